#ifndef SANDGLASS_TESTS_E2E_REMOTE_BESIDE_H_
#define SANDGLASS_TESTS_E2E_REMOTE_BESIDE_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "absl/time/time.h"

namespace sandglass::testing {

// What a flood must not do to a daemon: while this object lives, somebody calls
// it again and again, each time on a new connection.
class Beside {
 public:
  // `call` makes one call, and returns its output or what went wrong. It must
  // be "1\n".
  Beside(pid_t daemon, int port, std::function<std::string()> call);
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  // Ends the calls. Fails the test unless all were answered in time, the
  // daemon's memory grew by no more than a bound, and it has as many
  // connections as before.
  void Check();

  // How many descriptors the daemon has of connections to the port.
  size_t Connections() const;

 private:
  void Work();
  // The most that was resident since the last call of Forget, in MiB.
  int64_t PeakMiB() const;
  void ForgetPeak() const;
  void Stop();

  const pid_t daemon_;
  const int port_;
  const std::function<std::string()> call_;
  size_t connections_ = 0;
  int64_t before_mib_ = 0;
  std::atomic<bool> stop_ = false;
  int calls_ = 0;
  absl::Duration slowest_;
  std::string wrong_;
  std::thread thread_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_E2E_REMOTE_BESIDE_H_
