#ifndef SANDGLASS_SANDBOX_SPAWNER_JAIL_CGROUP_H_
#define SANDGLASS_SANDBOX_SPAWNER_JAIL_CGROUP_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "internal/spawner.pb.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// The directories that are delegated to the yard. Controllers on v1 have one
// each, the others are on v2.
struct CgroupRoots {
  os::Fd v2;
  os::Fd memory_v1;
  os::Fd pids_v1;
  os::Fd cpu_v1;
  os::Fd io_v1;
};

// The groups of one jail: `<name>` in each hierarchy for init and the limits,
// `<name>/run` on v2 for the program, and below that the groups that init makes
// for processes which can be killed one by one. A group that was once killed
// isn't used again: on some kernels (6.18) children that are later started in
// it with CLONE_INTO_CGROUP die at once.
class JailCgroup {
 public:
  // Makes the groups and opens what a jail needs of them. `init_uid`, a uid as
  // the yard sees it, may move children from `<name>` to its `run`, and make
  // groups in that. When a step fails, what was done is undone, and errno has
  // the reason as well.
  static absl::StatusOr<JailCgroup> Create(const CgroupRoots& roots,
                                           const std::string& name,
                                           uid_t init_uid);

  JailCgroup(JailCgroup&&) = default;
  JailCgroup& operator=(JailCgroup&&) = default;

  // Writes every limit that `config` doesn't excuse and that isn't in force
  // already. Returns false and sets errno on failure.
  // `roots` are the same as for Create. A group in a v1 controller of disk I/O
  // is made with the first slots that need one: before init starts, or never.
  bool SetLimits(const internal::SpawnerConfig& config,
                 const CgroupRoots& roots, const internal::JailSlots& slots);

  // Whether a jail that already has its init can still get these slots.
  bool Fits(const CgroupRoots& roots, const internal::JailSlots& slots) const {
    return !slots.has_disk() || !roots.io_v1.valid() || io_v1_.valid();
  }

  // Closes all descriptors and removes the groups. Returns false and sets errno
  // on failure; EBUSY while processes are dying: try again then.
  bool Remove(const CgroupRoots& roots);
  // The same for groups of this name for which no JailCgroup exists.
  static bool RemoveNamed(const CgroupRoots& roots, const std::string& name);

  const std::string& name() const { return name_; }
  const os::Fd& v2() const { return v2_; }
  const os::Fd& run() const { return run_; }
  std::vector<int> V1Tasks() const;

  // Adds the descriptors for the daemon, in the order of the reply's roles.
  // They stay owned here until CloseAll or Remove.
  void AppendFds(internal::JailCreated& reply, std::vector<int>& fds) const;
  // Closes the descriptors once the daemon has its copies.
  void CloseAll();

 private:
  JailCgroup() = default;
  absl::Status Make(const CgroupRoots& roots, uid_t init_uid);
  bool SetMemory(uint64_t bytes) const;
  bool SetMemoryV1(uint64_t bytes) const;
  bool SetPids(uint64_t processes) const;
  bool SetCpu(uint64_t millis) const;
  bool SetDisk(const internal::SpawnerConfig& config,
               const internal::DiskCap& cap) const;

  std::string name_;
  internal::JailSlots in_force_;
  os::Fd v2_, run_, kill_jail_, kill_run_, run_events_, freeze_run_;
  os::Fd memory_v1_, pids_v1_, cpu_v1_, io_v1_;
  os::Fd memory_tasks_, pids_tasks_, cpu_tasks_, io_tasks_;
  os::Fd oom_event_, cpu_weight_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_JAIL_CGROUP_H_
