#ifndef SANDGLASS_CLIENT_MCP_LINE_IO_H_
#define SANDGLASS_CLIENT_MCP_LINE_IO_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "client/mcp/stop_signal.h"

namespace sandglass::client {

// Reads lines from a descriptor that it does not own.
class LineReader {
 public:
  enum class Got {
    kLine,
    kTooLong,  // one of more than the most bytes was passed over
    kEnd,      // of the input, or the signal was set
  };

  LineReader(int fd, size_t most_bytes, const StopSignal& stop)
      : fd_(fd), most_bytes_(most_bytes), stop_(stop) {}

  // Waits for the next line and puts it into `line`, without its newline. What
  // stands behind the last newline counts as a line.
  Got Next(std::string& line);

 private:
  // False at the end.
  bool Read();

  const int fd_;
  const size_t most_bytes_;
  const StopSignal& stop_;
  std::string buffer_;
  size_t searched_ = 0;  // of the buffer, without a newline
  bool skipping_ = false;
  bool ended_ = false;
};

// Writes whole lines to a descriptor that it does not own, one at a time.
// Thread-safe.
class LineWriter {
 public:
  // A reader that goes away sets the signal. Once it is set, one that takes
  // nothing for 2 s is no longer waited for.
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
