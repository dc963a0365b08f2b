#ifndef SANDGLASS_TESTS_SECURITY_HOST_HOST_WATCH_H_
#define SANDGLASS_TESTS_SECURITY_HOST_HOST_WATCH_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "tests/support/host/process.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {

// What a program in a jail could change or reach if a wall had a hole: things
// put outside as bait, open to everybody, and an inventory of the host.
// Everything is looked at from outside.
class HostWatch {
 public:
  // Gives the process, which must have one thread, a mount namespace of its
  // own, sets the bait and takes the inventory. Ends the process where that
  // can't be done. A daemon to be watched is to be started afterwards.
  HostWatch();
  ~HostWatch();
  HostWatch(const HostWatch&) = delete;
  HostWatch& operator=(const HostWatch&) = delete;

  // One sentence for each thing that is not as it was, each change once.
  std::vector<std::string> Changes();

  // ---- bait, for programs that are told where it is ----
  // A directory, mode 0777, with "file" (0666), "program" (4777), and a link to
  // the file; all owned by nobody.
  const std::string& directory() const { return bait_.path(); }
  // A stream socket below directory(), 0777; another with an abstract name.
  std::string socket_path() const { return bait_.Path("socket"); }
  // With a leading "@".
  const std::string& abstract_name() const { return abstract_name_; }
  uint16_t tcp_port() const { return tcp_port_; }
  uint16_t udp_port() const { return udp_port_; }
  // Of System V, 0666: shared memory, a queue and a semaphore.
  key_t key() const { return key_; }
  // A child of the test, of user nobody, that notes every signal.
  Process process() const { return process_; }

 private:
  using Facts = std::map<std::string, std::string>;

  void MakeFiles();
  void MakeSockets();
  void MakeIpc();
  void StartProcess();
  Facts TakeInventory() const;
  void AddBait(Facts& facts) const;

  TempDir bait_;
  std::string abstract_name_;
  os::Fd listeners_[4];
  uint16_t tcp_port_ = 0;
  uint16_t udp_port_ = 0;
  key_t key_ = 0;
  int shared_memory_ = -1;
  int queue_ = -1;
  int semaphore_ = -1;
  Process process_;
  os::Fd process_tells_;
  os::Fd kernel_log_;
  Facts before_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SECURITY_HOST_HOST_WATCH_H_
