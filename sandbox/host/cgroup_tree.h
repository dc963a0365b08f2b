#ifndef SANDGLASS_SANDBOX_HOST_CGROUP_TREE_H_
#define SANDGLASS_SANDBOX_HOST_CGROUP_TREE_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// Where the host keeps its control groups, read from /proc/self/mountinfo and
// /proc/self/cgroup.
struct CgroupHost {
  // A directory that our subtree goes into; empty when the hierarchy or the
  // controller isn't there. A controller has a v1 directory or lives on v2.
  std::string v2_parent;
  std::string memory_v1_parent;
  std::string pids_v1_parent;
  std::string cpu_v1_parent;
  std::string io_v1_parent;
  // Whether v2's parent offers the controllers that v1 doesn't.
  bool v2_has_memory = false;
  bool v2_has_pids = false;
  bool v2_has_cpu = false;
  bool v2_has_io = false;

  bool has_memory() const { return !memory_v1_parent.empty() || v2_has_memory; }
  bool has_pids() const { return !pids_v1_parent.empty() || v2_has_pids; }
  bool has_cpu() const { return !cpu_v1_parent.empty() || v2_has_cpu; }
  bool has_io() const { return !io_v1_parent.empty() || v2_has_io; }
};

// `parent` (optional) is a path below each hierarchy's mount, for example
// "/ops/sandboxes", to use in place of the daemon's own group; the error names
// the first hierarchy that lacks it.
absl::StatusOr<CgroupHost> FindCgroups(const std::string& parent);

// Makes our subtree, `<parent>/<instance>` in each hierarchy, and moves the
// calling process into its own leaf there, `server`. Needs root. `roots_file`
// is written first, so that whatever happens next a later sweep knows where to
// look. FAILED_PRECONDITION when another daemon lives in a group of this name;
// the message names both, and nothing of the other's was touched.
absl::Status MakeCgroupTree(const CgroupHost& host, const std::string& instance,
                            const std::string& roots_file);

// One yard's part, `<parent>/<instance>/<yard>`.
struct YardCgroups {
  os::Fd v2;
  // Empty where the controller is on v2.
  os::Fd memory_v1;
  os::Fd pids_v1;
  os::Fd cpu_v1;
  os::Fd io_v1;
  // A leaf for the spawner in each hierarchy, but for that of io_v1.
  std::vector<os::Fd> spawner_leaves;
};

// Makes it and gives it to `yard_uid`. Needs root, and the subtree.
absl::StatusOr<YardCgroups> MakeYardCgroups(const CgroupHost& host,
                                            const std::string& instance,
                                            const std::string& yard,
                                            uid_t yard_uid);

// Kills and removes what an earlier daemon left: the paths in `roots_file`.
// Those whose last part is `instance` are certain to be the caller's. Others,
// of an earlier way of naming or of a list that came with a copy of a
// directory, may have another daemon that lives: one that still has a process
// in its own leaf after two seconds. It is left alone, and not listed any
// more.
// NOT_FOUND-free: a missing file means nothing to do. DEADLINE_EXCEEDED when
// something would not go within two seconds (the message names it).
// FAILED_PRECONDITION when all is swept but what other daemons live in (the
// message names those).
absl::Status SweepCgroups(const std::string& roots_file,
                          const std::string& instance);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_HOST_CGROUP_TREE_H_
