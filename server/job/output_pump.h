#ifndef SANDGLASS_SERVER_JOB_OUTPUT_PUMP_H_
#define SANDGLASS_SERVER_JOB_OUTPUT_PUMP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "sandbox/os/fd.h"
#include "server/base/clock.h"
#include "server/job/end_marker.h"
#include "server/job/job.h"
#include "server/job/output_buffer.h"
#include "server/job/output_pace.h"
#include "server/job/output_redaction.h"
#include "server/job/run_listener.h"

namespace sandglass::server {

// The most that is read from a pipe at once, so that limits are checked in
// between.
inline constexpr size_t kMaxReadBytes = size_t{64} << 10;

// Reads once from a pipe or terminal, at most `max` bytes and without waiting.
// nullopt: nothing is there now. Empty: nothing will come any more, so it can
// be closed. The bytes are valid until the thread's next call.
std::optional<std::string_view> ReadPipe(int pipe, size_t max = kMaxReadBytes);

// Reads what a run writes to its two pipes, as it comes. It is counted,
// redacted, passed to the listener, who hears of it up to output_total_bytes,
// and kept for the answer, in this order.
class OutputPump {
 public:
  // The pipes may be opened later; each is closed when its end is read. All
  // arguments must outlive this object. `listener` may be null.
  OutputPump(os::Fd& out, os::Fd& err, const Job& job, RunListener* listener);

  // The user's code has begun; the listener's times count from `start`.
  void Begin(MonotonicTime start) { start_ = start; }
  // From now on looks for this note on stdout, and takes it out.
  void ExpectNote(EndMarker note) { note_ = std::move(note); }

  // Reads once. Returns true while there may be more.
  bool Read(Stream stream);
  // Reads once from each that has something, the one first that was read last.
  void Read(bool from_out, bool from_err);
  // When to wait for output, and whether to.
  const OutputPace& pace() const { return pace_; }
  // Reads everything that is in the pipes now.
  void ReadWaiting();
  // Does the same for the last time, and hands on what was held back.
  void Drain();

  // Bytes that the program wrote.
  uint64_t written_bytes() const {
    return out_.redaction.taken_bytes() + err_.redaction.taken_bytes();
  }
  // Bytes of one stream that the listener and the answer got.
  uint64_t told_bytes(Stream stream) const {
    return (stream == Stream::kStdout ? out_ : err_).kept.total_bytes();
  }
  // The exit code of the note, once it has come, and the time when it was read.
  std::optional<int> noted_exit_code() const { return note_.exit_code(); }
  MonotonicTime noted_at() const { return noted_at_; }

  // Sets what `result` and its facts say about the streams. Call it once, after
  // Drain.
  void CollectResult(JobResult& result);

 private:
  struct Source {
    Stream stream;
    os::Fd& fd;
    OutputRedaction redaction;
    OutputBuffer kept;
  };

  bool Read(Source& source);
  void Append(Source& source, std::string_view written, MonotonicTime now);
  void Emit(Source& source, std::string_view data, RunListener* listener,
            MonotonicTime now) const;
  // The listener, while it is still told of output; otherwise null.
  RunListener* listener() const {
    return written_bytes() <= max_told_ ? listener_ : nullptr;
  }

  RunListener* const listener_;
  const uint64_t max_told_;
  Source out_;
  Source err_;
  OutputPace pace_;
  EndMarker note_;
  MonotonicTime start_;
  MonotonicTime noted_at_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_OUTPUT_PUMP_H_
