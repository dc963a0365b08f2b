#ifndef SANDGLASS_SANDBOX_JAILED_ZYGOTE_H_
#define SANDGLASS_SANDBOX_JAILED_ZYGOTE_H_

#include <sys/types.h>

#include <optional>
#include <vector>

#include "sandbox/jailed/runner.h"

namespace sandglass::sandbox {

// Descriptors that the spawner leaves open for a zygote, by number. High, so
// that an interpreter's own have the numbers that they always have.
inline constexpr int kZygoteChannelFd = 200;     // to the spawner
inline constexpr int kZygoteOwnLibraryFd = 201;  // see kZygoteLibrary
inline constexpr int kZygoteOwnScriptFd = 202;   // see kZygoteScript
inline constexpr int kZygoteFiltersFd = 203;

// The native half of a zygote: an interpreter that has its imports done and
// does nothing else but fork runners into jails. It has every right over the
// jails of its yard and never runs what a user sent. Single-threaded.
class Zygote {
 public:
  // Reads the filters. False with errno when they are malformed.
  bool Prepare();
  // Waits for the next order; false when the spawner is gone or has retired
  // this zygote.
  bool Next();
  // Forks the runner that was ordered. nullopt in the zygote, which has told
  // the spawner; in the child, the runner, still with the zygote's rights.
  // Precondition: Next returned true.
  std::optional<Runner> Fork();

 private:
  struct Order {
    FillOrder header = {};
    std::vector<os::Fd> fds;
  };

  void Reply(pid_t pid, int error) const;

  std::vector<absl::Span<const sock_filter>> filters_;
  os::Fd home_;  // its own pid namespace, by its pidfd
  Order order_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_ZYGOTE_H_
