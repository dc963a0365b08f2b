#ifndef SANDGLASS_SANDBOX_JAIL_CPU_TURN_H_
#define SANDGLASS_SANDBOX_JAIL_CPU_TURN_H_

#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// Where the processors don't suffice for all jails, code that has computed for
// long gives way to code that has just begun: its jail has a smaller weight
// until something new begins in it. Its limits stay, and where nobody else
// computes it loses nothing. Thread-safe.
class CpuTurn {
 public:
  // What a jail that gives way has of its weight: one in so many.
  static constexpr uint64_t kYieldedPart = 4;

  // `weight` is the cpu.weight or cpu.shares of the jail's group, for reading
  // and writing. Where there is none, nothing ever changes.
  explicit CpuTurn(os::Fd weight) : weight_(std::move(weight)) {}

  // Something begins in the jail, which has its whole weight from now on.
  // Returns true if it had given way: other code in it has computed for long.
  bool Begin();
  // What began has computed for long, or has ended beside what has. May be
  // called again and again.
  void Yield();

 private:
  const os::Fd weight_;
  absl::Mutex mutex_;
  uint64_t whole_ ABSL_GUARDED_BY(mutex_) = 0;  // while it gives way, else 0
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAIL_CPU_TURN_H_
