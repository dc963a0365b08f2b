#include "server/job/output_pump.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include "sandbox/os/io.h"

namespace sandglass::server {

std::optional<std::string_view> ReadPipe(int pipe, size_t max) {
  static thread_local std::unique_ptr<char[]> buffer(new char[kMaxReadBytes]);
  while (true) {
    const ssize_t size =
        os::ReadNow(pipe, buffer.get(), std::min(max, kMaxReadBytes));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return std::nullopt;
    // Of a terminal that nobody has open any more the end is EIO.
    if (size <= 0) return std::string_view();
    return std::string_view(buffer.get(), static_cast<size_t>(size));
  }
}

OutputPump::OutputPump(os::Fd& out, os::Fd& err, const Job& job,
                       RunListener* listener)
    : listener_(listener),
      max_told_(job.limits.output_total_bytes),
      out_{Stream::kStdout, out, OutputRedaction(job.redactor),
           OutputBuffer(job.limits.output_bytes)},
      err_{Stream::kStderr, err, OutputRedaction(job.redactor),
           OutputBuffer(job.limits.output_bytes)} {}

bool OutputPump::Read(Stream stream) {
  return Read(stream == Stream::kStdout ? out_ : err_);
}

void OutputPump::Read(bool from_out, bool from_err) {
  const bool err_first = pace_.last_stream() == Stream::kStderr;
  if (from_err && err_first) Read(err_);
  if (from_out) Read(out_);
  if (from_err && !err_first) Read(err_);
}

bool OutputPump::Read(Source& source) {
  std::optional<std::string_view> data = ReadPipe(source.fd.get());
  if (!data.has_value()) return false;
  if (data->empty()) {
    source.fd.reset();
    return false;
  }
  const MonotonicTime now = Now();
  pace_.Record(source.stream, data->size(), kMaxReadBytes, now);
  if (&source == &out_ && !note_.exit_code()) {
    data = note_.Feed(*data);
    if (note_.exit_code()) noted_at_ = now;
  }
  Append(source, *data, now);
  return true;
}

void OutputPump::Append(Source& source, std::string_view written,
                        MonotonicTime now) {
  // The piece with which the limit is exceeded is still told.
  RunListener* const told = listener();
  Emit(source, source.redaction.Feed(written), told, now);
}

void OutputPump::Emit(Source& source, std::string_view data,
                      RunListener* listener, MonotonicTime now) const {
  if (data.empty()) return;
  if (listener != nullptr) {
    listener->OnOutput(source.stream, data, source.kept.total_bytes(),
                       Between(start_, now));
  }
  source.kept.Append(data);
}

void OutputPump::ReadWaiting() {
  for (Source* source : {&out_, &err_}) {
    const uint64_t all =
        source->redaction.taken_bytes() + os::WaitingBytes(source->fd.get());
    while (source->redaction.taken_bytes() < all && Read(*source)) {
    }
  }
}

void OutputPump::Drain() {
  ReadWaiting();
  const MonotonicTime now = Now();
  Append(out_, note_.Rest(), now);
  for (Source* source : {&out_, &err_}) {
    Emit(*source, source->redaction.Rest(), listener(), now);
  }
}

void OutputPump::CollectResult(JobResult& result) {
  result.facts.stdout_bytes = out_.redaction.taken_bytes();
  result.facts.stderr_bytes = err_.redaction.taken_bytes();
  policy::AddCounts(out_.redaction.counts(), result.redactions);
  policy::AddCounts(err_.redaction.counts(), result.redactions);
  result.stdout_result = out_.kept.Collect();
  result.stderr_result = err_.kept.Collect();
}

}  // namespace sandglass::server
