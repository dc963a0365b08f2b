#include "sandbox/jailed/enter_jail.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "sandbox/jailed/program_rights.h"
#include "sandbox/os/files.h"
#include "sandbox/os/mount.h"
#include "sandbox/os/namespaces.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/wire/jail_layout.h"

namespace sandglass::sandbox {
namespace {

// The host's limit is 4096 for all of its devpts mounts together.
constexpr unsigned kMaxTerminals = 16;

bool JoinCgroups(const JailPlan& plan) {
  // A single-threaded process that writes "0" moves itself and so avoids the
  // grace period that moving another process costs (5–28 ms).
  return std::all_of(plan.v1_tasks.begin(), plan.v1_tasks.end(),
                     [](int tasks) { return ::write(tasks, "0", 1) == 1; });
}

bool BecomeInitUid() {
  return ::setgroups(0, nullptr) == 0 &&
         ::setresgid(kInitUid, kInitUid, kInitUid) == 0 &&
         ::setresuid(kInitUid, kInitUid, kInitUid) == 0;
}

// Sets a limit that the kernel may be built without to 0.
bool ForbidIfThere(const char* sysctl) {
  return os::WriteControlFile(AT_FDCWD, sysctl, "0") || errno == ENOENT;
}

bool LimitNamespaces() {
  // The yard's /proc is still in view here; the jail's own will be read-only.
  // Such a sysctl applies to the user namespace of the process that opens it,
  // here the jail's.
  return os::WriteControlFile(AT_FDCWD, "/proc/sys/user/max_user_namespaces",
                              "0") &&
         // Watching files would reach outside of the jail, since it shares the
         // files of the image, and would count against the host's root. The
         // filter refuses these calls; this limit holds whatever a filter
         // allows.
         ForbidIfThere("/proc/sys/user/max_inotify_instances") &&
         ForbidIfThere("/proc/sys/user/max_fanotify_groups") &&
         // When the whole host runs out of memory, jails are killed first.
         os::WriteControlFile(AT_FDCWD, "/proc/self/oom_score_adj", "1000") &&
         ::sethostname("sandglass", 9) == 0;
}

bool MountImage(const JailPlan& plan) {
  // A copy of the template that was made once per yard: one call instead of one
  // for each mount.
  const os::Fd tree = os::CloneTree(plan.image.c_str());
  return tree.valid() && os::AttachTree(tree, kYardMount) &&
         // It has no terminals until a process is started on one. It is mounted
         // now because by then init will have lost the right to.
         os::MountTerminals((std::string(kYardMount) + kTerminals).c_str(),
                            kCodeUid, kMaxTerminals);
}

bool MakeOwnedDirectory(const std::string& path, mode_t mode) {
  return ::mkdir(path.c_str(), mode) == 0 &&
         ::chown(path.c_str(), kCodeUid, kCodeUid) == 0 &&
         ::chmod(path.c_str(), mode) == 0;
}

bool Bind(const std::string& source, const std::string& target) {
  return os::BindMount(source.c_str(), target.c_str());
}

bool MountScratch(const JailPlan& plan) {
  const std::string root = kYardMount;
  const std::string scratch = kYardScratch;
  constexpr uint64_t kFlags = os::kNoSuid | os::kNoDev;
  // One tmpfs, and so one budget, for /tmp, /dev/shm and the home directory. It
  // is mounted outside the new root: the jail sees only the three directories.
  if (!os::MountTmpfs(kYardScratch, {.bytes = plan.scratch.tmp_bytes,
                                     .inodes = plan.scratch.max_files,
                                     .mode = 0755,
                                     .flags = kFlags}) ||
      !MakeOwnedDirectory(scratch + "/tmp", 01777) ||
      !MakeOwnedDirectory(scratch + "/shm", 01777) ||
      !MakeOwnedDirectory(scratch + "/home", 0700) ||
      !Bind(scratch + "/tmp", root + "/tmp") ||
      !Bind(scratch + "/shm", root + "/dev/shm") ||
      !Bind(scratch + "/home", root + kHome)) {
    return false;
  }
  const std::string workspace = root + kWorkspace;
  return os::MountTmpfs(workspace.c_str(),
                        {.bytes = plan.scratch.workspace_bytes,
                         .inodes = plan.scratch.max_files,
                         .mode = 0755,
                         .flags = kFlags}) &&
         ::chown(workspace.c_str(), kCodeUid, kCodeUid) == 0;
}

bool MountProc(const JailPlan& plan) {
  const std::string root = kYardMount;
  // Read-only as a whole: no sysctl, no /proc/self/mem for writing, no
  // sysrq-trigger. hidepid=2: the program sees its own processes, not init.
  if (!os::MountProc(
          (root + "/proc").c_str(),
          {.flags = os::kNoSuid | os::kNoDev | os::kNoExec | os::kReadOnly,
           .hide_processes = true})) {
    return false;
  }
  for (const std::string& path : plan.masked_files) {
    if (!Bind(root + "/dev/null", root + path)) return false;
  }
  for (const std::string& path : plan.masked_directories) {
    if (!Bind(root + "/var/empty", root + path)) return false;
  }
  return true;
}

bool PivotIntoImage() {
  // pivot_root(2): with "." for both arguments the old root ends up on top of
  // the new one and is detached from there, so that no directory is needed for
  // it.
  return ::chdir(kYardMount) == 0 && os::PivotRoot(".", ".") &&
         os::DetachMount(".") && ::chdir("/") == 0;
}

bool MakePipes(JailFds& fds) {
  // The code's uid must own the pipes, so that the program can open
  // /dev/stdout; a pipe is owned by the file system uid of the process that
  // makes it.
  ::setfsgid(kCodeUid);
  ::setfsuid(kCodeUid);
  const bool made = MakeStreamPipes(fds.streams);
  ::setfsuid(kInitUid);
  ::setfsgid(kInitUid);
  fds.tmp_fs.reset(::open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC));
  fds.workspace_fs.reset(::open(kWorkspace, O_PATH | O_DIRECTORY | O_CLOEXEC));
  return made && fds.tmp_fs.valid() && fds.workspace_fs.valid();
}

// The capabilities that init needs for its work: to fork as the code's uid, to
// open files with the code's rights, to send signals.
constexpr uint64_t kInitRights = os::kCapSetUid | os::kCapSetGid | os::kCapKill;

bool LimitInitRights() {
  // ORDER: emptying the bounding set and setting the secure bits need
  // CAP_SETPCAP, which is dropped afterwards. Changing ids still drops
  // capabilities (no NO_SETUID_FIXUP), and the bits can't be changed any more.
  // CAP_SYS_ADMIN in the jail's user namespace stays until the jail's file
  // systems have their sizes.
  return os::LockSecureBits() && os::DropBoundingSet() &&
         os::SetCapabilities(kInitRights | os::kCapSysAdmin) &&
         os::SetNoNewPrivs() && os::SetNonDumpable();
}

bool CloseOtherFds(const JailPlan& plan, const JailFds& fds) {
  const os::Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return false;
  for (int fd = 0; fd <= 2; ++fd) {
    if (::dup2(null.get(), fd) < 0) return false;
  }
  int keep[] = {plan.control,
                fds.limit_files.get(),
                plan.run_cgroup,
                null.get(),
                fds.landlock_ruleset.get(),
                fds.streams.in.program.get(),
                fds.streams.in.daemon.get(),
                fds.streams.out.program.get(),
                fds.streams.out.daemon.get(),
                fds.streams.err.program.get(),
                fds.streams.err.daemon.get(),
                fds.tmp_fs.get(),
                fds.workspace_fs.get()};
  std::sort(std::begin(keep), std::end(keep));
  int from = 3;
  for (int fd : keep) {
    if (fd < 0) continue;
    if (!os::CloseRange(from, fd - 1)) return false;
    from = fd + 1;
  }
  return os::CloseFrom(from);
}

}  // namespace

bool EnterJail(const JailPlan& plan, StepClock& clock, JailFds& fds) {
  // The ORDER is the security argument; each comment says why its line is where
  // it is.

  // Before any uid change: a tasks file only accepts a writer whose saved or
  // real uid is that of the process that opened the file, the yard's root.
  clock.Begin(SetupStep::kJoinCgroups);
  if (!JoinCgroups(plan)) return false;

  // After the groups are joined, because otherwise the jail could read its
  // place in the host's tree from /proc/self/cgroup.
  clock.Begin(SetupStep::kCgroupNamespace);
  if (!os::Unshare(os::kNewCgroup)) return false;

  // While the yard's writable /proc is in view and /proc/self still belongs to
  // this process's uid.
  clock.Begin(SetupStep::kNamespaceLimits);
  if (!LimitNamespaces()) return false;

  // Before the mounts: what init makes must belong to ids that the jail has.
  clock.Begin(SetupStep::kBecomeInitUid);
  if (!BecomeInitUid()) return false;

  clock.Begin(SetupStep::kMountImage);
  if (!MountImage(plan)) return false;
  clock.Begin(SetupStep::kMountScratch);
  if (!MountScratch(plan)) return false;
  // Before the pivot: the kernel allows a new /proc only while a full one is in
  // view.
  clock.Begin(SetupStep::kMountProc);
  if (!MountProc(plan)) return false;
  // After the scratch directories, above which it mounts, and /proc.
  clock.Begin(SetupStep::kLimitFiles);
  fds.limit_files = MountLimitFiles();
  if (!fds.limit_files.valid() ||
      !WriteLimitFiles(fds.limit_files, {}, plan.limits, plan.cpuinfo)) {
    return false;
  }
  clock.Begin(SetupStep::kPivotRoot);
  if (!PivotIntoImage()) return false;

  // After the pivot: the rules refer to the jail's own directories.
  clock.Begin(SetupStep::kLandlockRules);
  if (plan.landlock_abi > 0) {  // 0: the operator excused the host
    fds.landlock_ruleset = MakeLandlockRules(plan.landlock_abi);
    if (!fds.landlock_ruleset.valid()) return false;
  }

  clock.Begin(SetupStep::kMakePipes);
  if (!MakePipes(fds)) return false;

  // From here on no right can be gained.
  clock.Begin(SetupStep::kLimitInitRights);
  if (!LimitInitRights()) return false;

  clock.Begin(SetupStep::kCloseFds);
  if (!CloseOtherFds(plan, fds)) return false;
  clock.End();
  return true;
}

bool FitJail(const JailPlan& plan, const ScratchSizes& wanted,
             const VisibleLimits& limits, const os::Fd& limit_files,
             const os::Fd& layer, StepClock& clock) {
  if (layer.valid()) {
    clock.Begin(SetupStep::kMountLayer);
    if (!os::AttachTree(layer, kLibraries)) return false;
  }
  if (wanted != plan.scratch) {
    clock.Begin(SetupStep::kResizeScratch);
    // /tmp, /dev/shm and the home directory are one file system.
    if (!os::ResizeTmpfs("/tmp", wanted.tmp_bytes, wanted.max_files) ||
        !os::ResizeTmpfs(kWorkspace, wanted.workspace_bytes,
                         wanted.max_files)) {
      return false;
    }
  }
  if (limits != plan.limits) {
    clock.Begin(SetupStep::kLimitFiles);
    if (!WriteLimitFiles(limit_files, plan.limits, limits, plan.cpuinfo)) {
      return false;
    }
  }
  // The last step of those that need rights.
  clock.Begin(SetupStep::kDropInitRights);
  if (!os::SetCapabilities(kInitRights)) return false;
  clock.End();
  return true;
}

}  // namespace sandglass::sandbox
