#ifndef SANDGLASS_CLIENT_MCP_LINE_IO_H_
#define SANDGLASS_CLIENT_MCP_LINE_IO_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "client/mcp/stop_signal.h"

namespace sandglass::client {

// Reads lines from a borrowed descriptor.
class LineReader {
 public:
  enum class Got {
    kLine,
    kTooLong,  // a line above the limit was skipped
    kEnd,      // of the input, or the signal was set
  };

  LineReader(int fd, size_t max_bytes, const StopSignal& stop)
      : fd_(fd), max_bytes_(max_bytes), stop_(stop) {}

  // Waits for the next line and puts it into `line`, without its newline. Text
  // after the last newline counts as a line.
  Got Next(std::string& line);

 private:
  // Returns false at the end.
  bool Read();

  const int fd_;
  const size_t max_bytes_;
  const StopSignal& stop_;
  std::string buffer_;
  size_t searched_ = 0;  // bytes of the buffer known to have no newline
  bool skipping_ = false;
  bool ended_ = false;
};

// Writes whole lines to a borrowed descriptor, one at a time. Thread-safe.
class LineWriter {
 public:
  // If the reader goes away, the signal is set. Once it is set, a reader that
  // accepts nothing for 2 s isn't waited for any longer.
  LineWriter(int fd, const StopSignal& stop) : fd_(fd), stop_(stop) {}

  void Write(absl::string_view line) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  bool WriteBytes(absl::string_view bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int fd_;
  const StopSignal& stop_;
  absl::Mutex mutex_;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_LINE_IO_H_
