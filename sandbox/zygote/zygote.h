#ifndef SANDGLASS_SANDBOX_ZYGOTE_ZYGOTE_H_
#define SANDGLASS_SANDBOX_ZYGOTE_ZYGOTE_H_

#include <linux/filter.h>
#include <sys/types.h>

#include <array>
#include <optional>
#include <vector>

#include "sandbox/zygote/runner.h"

namespace sandglass::sandbox {

// The numbers of the descriptors that the spawner leaves open for a zygote.
// They are high, so that an interpreter's own descriptors have the numbers that
// they always have.
inline constexpr int kZygoteChannelFd = 200;     // to the spawner
inline constexpr int kZygoteOwnLibraryFd = 201;  // see kZygoteLibrary
inline constexpr int kZygoteOwnScriptFd = 202;   // see kZygoteScript

// The native half of a zygote: an interpreter that has done its imports and
// then only forks runners into jails. It has every right over the jails of its
// yard and never runs what a user sent. Single-threaded.
class Zygote {
 public:
  // Tells the spawner that it is ready. Returns false and sets errno on
  // failure.
  bool Prepare();
  // Waits for the next order. False when the spawner is gone or has retired
  // this zygote.
  bool Next();
  // Forks the runner that was ordered. In the zygote it reports to the spawner
  // and returns nullopt; in the child it returns the runner, which still has
  // the zygote's rights. Precondition: Next returned true.
  std::optional<Runner> Fork();

 private:
  struct Order {
    FillOrder header = {};
    std::array<sock_filter, BPF_MAXINSNS> filter;
  };

  void Reply(pid_t pid, int error) const;

  os::Fd home_;  // its own pid namespace, by its pidfd
  Order order_;
  std::vector<os::Fd> order_fds_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_ZYGOTE_ZYGOTE_H_
