#ifndef SANDGLASS_SANDBOX_WIRE_SETUP_STEP_H_
#define SANDGLASS_SANDBOX_WIRE_SETUP_STEP_H_

#include "absl/strings/string_view.h"

namespace sandglass::sandbox {

// Every step in the making of a jail that can fail or be slow, in order. This
// one list serves errors, timings, metrics and fault injection.
#define SANDGLASS_SETUP_STEPS(X)                                          \
  /* in the spawner */                                                    \
  X(kPrepareCgroup, "prepare_cgroup") /* groups made ahead or now */      \
  X(kSetLimits, "set_limits")         /* memory, pids, cpu */             \
  X(kEnterNetns, "enter_netns")       /* made ahead, owned by the yard */ \
  X(kCloneInit, "clone_init")         /* five namespaces, v2 group */     \
  X(kLeaveNetns, "leave_netns")                                           \
  X(kMapUids, "map_uids")                                                 \
  X(kOpenLayer, "open_layer") /* of libraries */                          \
  X(kOpenDoors, "open_doors") /* to the egress proxy */                   \
  /* in init */                                                           \
  X(kWaitForMaps, "wait_for_maps")                                        \
  X(kJoinCgroups, "join_cgroups") /* v1 hierarchies */                    \
  X(kCgroupNamespace, "cgroup_namespace")                                 \
  X(kNamespaceLimits, "namespace_limits") /* no nested namespaces */      \
  X(kBecomeInitUid, "become_init_uid")                                    \
  X(kMountImage, "mount_image")                                           \
  X(kMountScratch, "mount_scratch") /* /tmp, /dev/shm, home, work */      \
  X(kMountProc, "mount_proc")                                             \
  X(kLimitFiles, "limit_files") /* what runtimes size themselves by */    \
  X(kPivotRoot, "pivot_root")                                             \
  X(kLandlockRules, "landlock_rules")                                     \
  X(kMakePipes, "make_pipes")                                             \
  X(kLimitInitRights, "limit_init_rights") /* nothing can come back */    \
  X(kCloseFds, "close_fds")                                               \
  /* in init, when the jail is given to a run */                          \
  X(kMountLayer, "mount_layer")       /* where a run has libraries */     \
  X(kResizeScratch, "resize_scratch") /* where slots differ */            \
  X(kDropInitRights, "drop_init_rights")                                  \
  /* in a zygote and the runner that it forks */                          \
  X(kForkRunner, "fork_runner")                                           \
  X(kJoinJail, "join_jail")   /* all its namespaces at once */            \
  X(kForkHooks, "fork_hooks") /* the interpreter's own */                 \
  X(kRehearse, "rehearse")                                                \
  /* per program */                                                       \
  X(kStageFiles, "stage_files")                                           \
  X(kCloneProgram, "clone_program")                                       \
  X(kSetStdio, "set_stdio")                                               \
  X(kCloseProgramFds, "close_program_fds")                                \
  X(kSetRlimits, "set_rlimits")                                           \
  X(kDropProgramRights, "drop_program_rights")                            \
  X(kLandlock, "landlock")                                                \
  X(kSeccomp, "seccomp")                                                  \
  X(kEnterDirectory, "enter_directory") /* behind every wall */           \
  X(kExec, "exec")

enum class SetupStep : int {
#define SANDGLASS_STEP(name, text) name,
  SANDGLASS_SETUP_STEPS(SANDGLASS_STEP)
#undef SANDGLASS_STEP
};

inline constexpr absl::string_view kSetupStepNames[] = {
#define SANDGLASS_STEP(name, text) text,
    SANDGLASS_SETUP_STEPS(SANDGLASS_STEP)
#undef SANDGLASS_STEP
};

inline constexpr int kSetupStepCount =
    static_cast<int>(sizeof(kSetupStepNames) / sizeof(kSetupStepNames[0]));

// For example "mount_proc"; "unknown_step" for a number out of range.
constexpr absl::string_view SetupStepName(int step) {
  return step >= 0 && step < kSetupStepCount ? kSetupStepNames[step]
                                             : "unknown_step";
}

// Why a requested file can't be delivered. These are the values that init sends
// to the daemon.
enum class FileProblem : int {
  kNone = 0,
  kNotFound = 1,
  kPermissionDenied = 2,
  kIsDirectory = 3,
  kNotRegular = 4,
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_SETUP_STEP_H_
