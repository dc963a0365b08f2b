#ifndef SANDGLASS_SANDBOX_YARD_YARD_GROUP_H_
#define SANDGLASS_SANDBOX_YARD_YARD_GROUP_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "policy/limits/limits.h"
#include "sandbox/jail/jail.h"
#include "sandbox/yard/sandbox.h"
#include "sandbox/yard/yard_port.h"

namespace sandglass::sandbox {

// The yards that make jails of one kind. A spawner does one thing at a time, so
// one yard alone doesn't make more jails on a machine with more processors.
// Thread-safe, but for Add.
class YardGroup {
 public:
  // All readers end before the first port goes, since each may ask for the
  // others.
  ~YardGroup();

  // Call before the reader of any of its ports is started.
  void Add(std::unique_ptr<YardPort> port);

  // The same as Sandbox::CreateJail. Of the yards that can make one now, the
  // one does it that is asked for the fewest at this moment, the first of those
  // that are alike. What a spawner was asked for as it ended, another makes.
  absl::StatusOr<std::unique_ptr<Jail>> CreateJail(
      const std::string& template_name, const policy::Limits& limits,
      absl::Duration timeout, FillFor fill_for, const std::string& layer)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Whether others make the jails of this kind now that this port is broken,
  // and nothing of its yard is left. Takes some time where its spawner is just
  // ending.
  bool GoesOnWithout(const YardPort& lost) const;

  const std::vector<std::unique_ptr<YardPort>>& ports() const { return ports_; }

 private:
  // The number of the yard that is to make the next jail.
  size_t Choose() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  std::vector<std::unique_ptr<YardPort>> ports_;
  absl::Mutex mutex_;
  // For each port: jails that it is asked for and that nobody has yet.
  std::vector<uint32_t> asked_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_YARD_YARD_GROUP_H_
