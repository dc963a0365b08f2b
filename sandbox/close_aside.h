#ifndef SANDGLASS_SANDBOX_CLOSE_ASIDE_H_
#define SANDGLASS_SANDBOX_CLOSE_ASIDE_H_

#include <thread>
#include <utility>
#include <vector>

#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// Closes descriptors of unknown kinds where nobody waits for it: their maker
// chooses how long that takes (SO_LINGER, also of a socket that waits in
// another).
inline void CloseAside(std::vector<os::Fd> fds) {
  if (!fds.empty()) std::thread([fds = std::move(fds)] {}).detach();
}

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_CLOSE_ASIDE_H_
