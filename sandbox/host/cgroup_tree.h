#ifndef SANDGLASS_SANDBOX_HOST_CGROUP_TREE_H_
#define SANDGLASS_SANDBOX_HOST_CGROUP_TREE_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// The places of the host's control groups, read from /proc/self/mountinfo and
// /proc/self/cgroup.
struct CgroupHost {
  // The directories in which our subtrees are made; empty when the hierarchy or
  // the controller doesn't exist. A controller either has a v1 directory or is
  // on v2.
  std::string v2_parent;
  std::string memory_v1_parent;
  std::string pids_v1_parent;
  std::string cpu_v1_parent;
  std::string io_v1_parent;
  // Whether the v2 parent offers those controllers that v1 doesn't.
  bool v2_has_memory = false;
  bool v2_has_pids = false;
  bool v2_has_cpu = false;
  bool v2_has_io = false;

  bool has_memory() const { return !memory_v1_parent.empty() || v2_has_memory; }
  bool has_pids() const { return !pids_v1_parent.empty() || v2_has_pids; }
  bool has_cpu() const { return !cpu_v1_parent.empty() || v2_has_cpu; }
  bool has_io() const { return !io_v1_parent.empty() || v2_has_io; }
};

// Finds the host's control groups. `parent` (optional) is a path below each
// hierarchy's mount, for example "/ops/sandboxes", to use instead of the
// daemon's own group; the error names the first hierarchy that lacks it.
absl::StatusOr<CgroupHost> FindCgroups(const std::string& parent);

// Makes our subtree, `<parent>/<instance>` in each hierarchy, and moves the
// calling process into a leaf of its own there, `server`. Needs root.
// `roots_file` is written first, so that a later sweep knows where to look,
// whatever happens next. FAILED_PRECONDITION when another daemon lives in a
// group of this name; the message names both, and nothing of the other daemon's
// has been changed.
absl::Status MakeCgroupTree(const CgroupHost& host, const std::string& instance,
                            const std::string& roots_file);

// One yard's part of the subtree, `<parent>/<instance>/<yard>`.
struct YardCgroups {
  os::Fd v2;
  // Empty where the controller is on v2.
  os::Fd memory_v1;
  os::Fd pids_v1;
  os::Fd cpu_v1;
  os::Fd io_v1;
  // A leaf for the spawner in each hierarchy except that of io_v1.
  std::vector<os::Fd> spawner_leaves;
};

// Makes a yard's part and gives it to `yard_uid`. Needs root, and the subtree.
absl::StatusOr<YardCgroups> MakeYardCgroups(const CgroupHost& host,
                                            const std::string& instance,
                                            const std::string& yard,
                                            uid_t yard_uid);

// Kills and removes the groups that an earlier daemon left: the paths in
// `roots_file`. Paths whose last part is `instance` are certainly the caller's.
// Others, from an earlier way of naming or from a list that was copied with its
// directory, may belong to another live daemon: one that still has a process in
// its own leaf after two seconds. That one is left alone, and removed from the
// list.
// A missing file means that there is nothing to do; NOT_FOUND is never
// returned. DEADLINE_EXCEEDED when something could not be removed within two
// seconds (the message names it). FAILED_PRECONDITION when everything was
// removed except the groups in which other daemons live (the message names
// those).
absl::Status SweepCgroups(const std::string& roots_file,
                          const std::string& instance);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_HOST_CGROUP_TREE_H_
