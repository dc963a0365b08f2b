#ifndef SANDGLASS_SERVER_DAEMON_HELPER_OUTPUT_H_
#define SANDGLASS_SERVER_DAEMON_HELPER_OUTPUT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"
#include "server/base/clock.h"

namespace sandglass::server {

// Makes events `helper_output` of the daemon's log out of the lines that its
// other processes write to standard error: spawners with what their
// interpreters say, the egress proxy, the policy reader, the unpacker. So the
// log has one format throughout. A line that comes again and again, as those of
// a traceback do, is logged once, and then counted.
class HelperOutput {
 public:
  // Opens the pipe.
  static absl::StatusOr<std::unique_ptr<HelperOutput>> Create();
  // Calls Stop().
  ~HelperOutput();
  HelperOutput(const HelperOutput&) = delete;
  HelperOutput& operator=(const HelperOutput&) = delete;

  // From the first call to the second the pipe is this process's standard
  // error, for processes that it makes to inherit; the second one logs what
  // they have written by then. Nothing must be logged between the two.
  // Preconditions: single-threaded.
  void Divert();
  void EndDiversion();

  // Starts the thread that reads from here on.
  void Start();
  // Logs what there is; nothing that comes later is logged.
  void Stop();

 private:
  HelperOutput(os::Fd reading, os::Fd writing, os::Fd wake)
      : reading_(std::move(reading)),
        writing_(std::move(writing)),
        wake_(std::move(wake)) {}
  // Reads what the pipe has now. Returns false at its end.
  bool ReadSome();
  void AddLine(std::string line);

  struct Seen {
    uint64_t times = 0;
    uint64_t next = 1;  // the number of times that is logged
    MonotonicTime last;
  };

  os::Fd reading_;
  os::Fd writing_;
  os::Fd own_;  // standard error during a diversion
  os::Fd wake_;
  std::string unfinished_;
  std::map<std::string, Seen> seen_;
  std::thread thread_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_HELPER_OUTPUT_H_
