#include "server/job/output_pump.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include "sandbox/os/io.h"

namespace sandglass::server {

std::optional<std::string_view> ReadPipe(int pipe, size_t most) {
  static thread_local std::unique_ptr<char[]> buffer(new char[kMostReadBytes]);
  while (true) {
    const ssize_t size =
        os::ReadNow(pipe, buffer.get(), std::min(most, kMostReadBytes));
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return std::nullopt;
    // Of a terminal that nobody has open any more the end is EIO.
    if (size <= 0) return std::string_view();
    return std::string_view(buffer.get(), static_cast<size_t>(size));
  }
}

OutputPump::OutputPump(os::Fd& out, os::Fd& err, const Job& job,
                       JobObserver* observer)
    : observer_(observer),
      most_told_(job.limits.output_total_bytes),
      out_{out, RunOutput(Stream::kStdout, job)},
      err_{err, RunOutput(Stream::kStderr, job)} {}

bool OutputPump::Read(Stream stream) {
  return Read(stream == Stream::kStdout ? out_ : err_);
}

bool OutputPump::Read(Source& source) {
  std::optional<std::string_view> data = ReadPipe(source.fd.get());
  if (!data.has_value()) return false;
  if (data->empty()) {
    source.fd.reset();
    return false;
  }
  const Instant now = Now();
  if (&source == &out_ && !note_.exit_code()) {
    data = note_.Take(*data);
    if (note_.exit_code()) noted_at_ = now;
  }
  source.output.Take(*data, listener(), Between(start_, now));
  return true;
}

void OutputPump::ReadWaiting() {
  for (Source* source : {&out_, &err_}) {
    const uint64_t all =
        source->output.written_bytes() + os::WaitingBytes(source->fd.get());
    while (source->output.written_bytes() < all && Read(*source)) {
    }
  }
}

void OutputPump::Drain() {
  ReadWaiting();
  const absl::Duration since = Between(start_, Now());
  out_.output.Take(note_.Rest(), listener(), since);
  for (Source* source : {&out_, &err_}) {
    source->output.Finish(listener(), since);
  }
}

void OutputPump::TakeResult(JobResult& result) {
  result.facts.stdout_bytes = out_.output.written_bytes();
  result.facts.stderr_bytes = err_.output.written_bytes();
  result.stdout_result = out_.output.TakeResult(result.redactions);
  result.stderr_result = err_.output.TakeResult(result.redactions);
}

}  // namespace sandglass::server
