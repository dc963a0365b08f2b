#include "sandbox/spawner/jail_cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "sandbox/os/files.h"
#include "sandbox/os/status.h"

namespace sandglass::sandbox {
namespace {

// Enough for hundreds of connections over loopback. On v2, socket memory is
// part of the group's memory.
constexpr uint64_t kMaxSocketBytes = 16 << 20;
constexpr uint64_t kCpuPeriodMicros = 100'000;
// What a jail that may use one processor has of v1's shares and v2's weight. A
// group has 1024 and 100 unless told otherwise.
constexpr uint64_t kSharesOfProcessor = 128;
constexpr uint64_t kWeightOfProcessor = 12;
// Keeps an init that was taken over from filling the host's memory with groups.
constexpr uint64_t kMaxProcessGroups = 4096;

os::Fd OpenDirectory(const os::Fd& parent, const std::string& name) {
  return os::Fd(::openat(parent.get(), name.c_str(),
                         O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
}

// EEXIST is fine: two controllers may share one hierarchy.
os::Fd MakeDirectory(const os::Fd& parent, const std::string& name) {
  if (::mkdirat(parent.get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
    return os::Fd();
  }
  return OpenDirectory(parent, name);
}

os::Fd OpenIn(const os::Fd& directory, const char* name, int flags) {
  return os::Fd(::openat(directory.get(), name, flags | O_CLOEXEC));
}

bool MakeV1(const os::Fd& root, const std::string& name, os::Fd& directory,
            os::Fd& tasks) {
  if (!root.valid()) return true;
  directory = MakeDirectory(root, name);
  if (!directory.valid()) return false;
  tasks = OpenIn(directory, "tasks", O_WRONLY);
  return tasks.valid();
}

// Makes an eventfd that counts out-of-memory events of a v1 group (cgroups-v1
// memory.rst, "OOM Control").
os::Fd WatchOom(const os::Fd& memory) {
  os::Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const os::Fd control = OpenIn(memory, "memory.oom_control", O_RDONLY);
  if (!event.valid() || !control.valid() ||
      !os::WriteControlFile(memory.get(), "cgroup.event_control",
                            absl::StrCat(event.get(), " ", control.get()))) {
    return os::Fd();
  }
  return event;
}

// Sets a limit and reads it back, because the kernel accepts some limits
// without keeping them. Limits in bytes are kept in whole pages. A limit above
// the requested one counts as a failure.
bool Set(const os::Fd& directory, const char* name, uint64_t value) {
  if (!os::WriteControlFile(directory.get(), name, absl::StrCat(value))) {
    return false;
  }
  static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const absl::StatusOr<std::string> text =
      os::ReadSmallFile(directory.get(), name);
  uint64_t kept = 0;
  if (text.ok() && absl::SimpleAtoi(*text, &kept) && kept <= value &&
      value - kept < page) {
    return true;
  }
  errno = ENOTSUP;
  return false;
}

// For files that a kernel may be built without (swap accounting).
bool SetIfThere(const os::Fd& directory, const char* name, uint64_t value) {
  return Set(directory, name, value) || errno == ENOENT;
}

bool RemoveIn(const os::Fd& root, const std::string& path) {
  return !root.valid() ||
         ::unlinkat(root.get(), path.c_str(), AT_REMOVEDIR) == 0 ||
         errno == ENOENT;
}

// Removes a group with those that init made in it and didn't remove, at most
// kMaxProcessGroups.
bool RemoveWithChildren(const os::Fd& root, const std::string& path) {
  if (RemoveIn(root, path)) return true;
  if (errno != EBUSY) return false;
  // The kernel reports EBUSY for groups inside of it as well as for processes.
  os::Fd directory = OpenDirectory(root, path);
  DIR* entries = ::fdopendir(directory.get());
  if (entries == nullptr) return false;
  (void)directory.release();
  // glibc's readdir is unsafe only where threads share one stream.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const struct dirent* entry = ::readdir(entries)) {
    const absl::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") {
      ::unlinkat(::dirfd(entries), entry->d_name, AT_REMOVEDIR);
    }
  }
  ::closedir(entries);
  return RemoveIn(root, path);
}

bool SameCap(const internal::DiskCap& a, const internal::DiskCap& b) {
  return a.read_bytes() == b.read_bytes() &&
         a.write_bytes() == b.write_bytes() && a.reads() == b.reads() &&
         a.writes() == b.writes();
}

// See cgroups-v1 blkio-controller.rst, "Throttling/Upper limit policy files"; 0
// removes a cap there.
bool CapDiskV1(const os::Fd& directory, const std::string& disk,
               const internal::DiskCap& cap) {
  const auto write = [&](const char* what, uint64_t value) {
    return os::WriteControlFile(directory.get(),
                                absl::StrCat("blkio.throttle.", what).c_str(),
                                absl::StrCat(disk, " ", value));
  };
  return write("read_bps_device", cap.read_bytes()) &&
         write("write_bps_device", cap.write_bytes()) &&
         write("read_iops_device", cap.reads()) &&
         write("write_iops_device", cap.writes());
}

// See cgroup-v2.rst, "io.max".
bool CapDisk(const os::Fd& directory, const std::string& disk,
             const internal::DiskCap& cap) {
  const auto text = [](uint64_t value) {
    return value == 0 ? "max" : absl::StrCat(value);
  };
  return os::WriteControlFile(
      directory.get(), "io.max",
      absl::StrCat(disk, " rbps=", text(cap.read_bytes()), " wbps=",
                   text(cap.write_bytes()), " riops=", text(cap.reads()),
                   " wiops=", text(cap.writes())));
}

}  // namespace

absl::Status JailCgroup::Make(const CgroupRoots& roots, uid_t init_uid) {
  v2_ = MakeDirectory(roots.v2, name_);
  if (!v2_.valid()) return os::ErrnoStatus("make v2 group ", name_);
  run_ = MakeDirectory(v2_, "run");
  if (!run_.valid()) {
    return os::ErrnoStatus("make v2 group ", name_, "/run");
  }
  // Init starts in <name> and puts the program into <name>/run; for that the
  // kernel demands write access to cgroup.procs of both (cgroup-v2.rst,
  // "Delegation Containment").
  if (::fchownat(v2_.get(), "cgroup.procs", init_uid, -1, 0) != 0 ||
      ::fchownat(run_.get(), "cgroup.procs", init_uid, -1, 0) != 0) {
    return os::ErrnoStatus("give v2 group ", name_, " to its init");
  }
  // The directory too, for groups of single processes; the files in it other
  // than cgroup.procs stay the yard's. ORDER: the bounds come first.
  if (!Set(run_, "cgroup.max.descendants", kMaxProcessGroups) ||
      !Set(run_, "cgroup.max.depth", 1) ||
      ::fchown(run_.get(), init_uid, -1) != 0) {
    return os::ErrnoStatus("let init make groups in ", name_, "/run");
  }
  kill_jail_ = OpenIn(v2_, "cgroup.kill", O_WRONLY);
  kill_run_ = OpenIn(run_, "cgroup.kill", O_WRONLY);
  run_events_ = OpenIn(run_, "cgroup.events", O_RDONLY);
  freeze_run_ = OpenIn(run_, "cgroup.freeze", O_WRONLY);
  if (!kill_jail_.valid() || !kill_run_.valid() || !run_events_.valid() ||
      !freeze_run_.valid()) {
    return os::ErrnoStatus("open control files of v2 group ", name_);
  }
  if (!MakeV1(roots.memory_v1, name_, memory_v1_, memory_tasks_) ||
      !MakeV1(roots.pids_v1, name_, pids_v1_, pids_tasks_) ||
      !MakeV1(roots.cpu_v1, name_, cpu_v1_, cpu_tasks_)) {
    return os::ErrnoStatus("make v1 group ", name_);
  }
  // There is none where jails have no limit of processor time.
  cpu_weight_ = cpu_v1_.valid() ? OpenIn(cpu_v1_, "cpu.shares", O_RDWR)
                                : OpenIn(v2_, "cpu.weight", O_RDWR);
  if (memory_v1_.valid()) {
    oom_event_ = WatchOom(memory_v1_);
    if (!oom_event_.valid()) {
      return os::ErrnoStatus("watch memory.oom_control of ", name_);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<JailCgroup> JailCgroup::Create(const CgroupRoots& roots,
                                              const std::string& name,
                                              uid_t init_uid) {
  JailCgroup group;
  group.name_ = name;
  absl::Status made = group.Make(roots, init_uid);
  if (made.ok()) return group;
  const int error = errno;
  // What can't be removed here either is swept later (Spawner::SweepStrays).
  (void)group.Remove(roots);
  errno = error;
  return made;
}

bool JailCgroup::SetLimits(const internal::SpawnerConfig& config,
                           const CgroupRoots& roots,
                           const internal::JailSlots& slots) {
  if (slots.has_disk() && !io_v1_.valid() &&
      !MakeV1(roots.io_v1, name_, io_v1_, io_tasks_)) {
    return false;
  }
  const bool set = (config.without_memory_limit() ||
                    in_force_.memory_bytes() == slots.memory_bytes() ||
                    SetMemory(slots.memory_bytes())) &&
                   (config.without_pids_limit() ||
                    in_force_.max_processes() == slots.max_processes() ||
                    SetPids(slots.max_processes())) &&
                   (config.without_cpu_limit() ||
                    in_force_.cpu_millis() == slots.cpu_millis() ||
                    SetCpu(slots.cpu_millis())) &&
                   (SameCap(in_force_.disk(), slots.disk()) ||
                    SetDisk(config, slots.disk()));
  if (set) in_force_ = slots;
  return set;
}

bool JailCgroup::SetMemory(uint64_t bytes) const {
  if (memory_v1_.valid()) return SetMemoryV1(bytes);
  return Set(v2_, "memory.max", bytes) && SetIfThere(v2_, "memory.swap.max", 0);
}

bool JailCgroup::SetMemoryV1(uint64_t bytes) const {
  // v1 counts the memory of sockets separately, and limits it only if told to,
  // which has to be before there is a socket.
  if (!SetIfThere(memory_v1_, "memory.kmem.tcp.limit_in_bytes",
                  std::min(bytes / 4, kMaxSocketBytes))) {
    return false;
  }
  // ORDER: the limit of memory plus swap must never be the smaller of the two.
  if (bytes > in_force_.memory_bytes() && in_force_.memory_bytes() > 0) {
    return SetIfThere(memory_v1_, "memory.memsw.limit_in_bytes", bytes) &&
           Set(memory_v1_, "memory.limit_in_bytes", bytes);
  }
  return Set(memory_v1_, "memory.limit_in_bytes", bytes) &&
         SetIfThere(memory_v1_, "memory.memsw.limit_in_bytes", bytes);
}

bool JailCgroup::SetPids(uint64_t processes) const {
  // One more than requested, because init counts too.
  return Set(pids_v1_.valid() ? pids_v1_ : v2_, "pids.max", processes + 1);
}

bool JailCgroup::SetCpu(uint64_t millis) const {
  // The kernel accepts no quota below 1 ms (sched-bwc.rst).
  const uint64_t quota =
      std::max<uint64_t>(millis * kCpuPeriodMicros / 1000, 1000);
  // The share of time while the host is busy, in proportion to the quota: small
  // beside that of the spawner and its zygotes, which make the next jails.
  if (!cpu_v1_.valid()) {
    const std::string max = absl::StrCat(quota, " ", kCpuPeriodMicros);
    if (!os::WriteControlFile(v2_.get(), "cpu.max", max)) return false;
    const absl::StatusOr<std::string> kept =
        os::ReadSmallFile(v2_.get(), "cpu.max");
    if (!kept.ok() || absl::StripTrailingAsciiWhitespace(*kept) != max) {
      errno = ENOTSUP;
      return false;
    }
    return Set(
        v2_, "cpu.weight",
        std::clamp<uint64_t>(millis * kWeightOfProcessor / 1000, 1, 10000));
  }
  return Set(cpu_v1_, "cpu.cfs_period_us", kCpuPeriodMicros) &&
         Set(cpu_v1_, "cpu.cfs_quota_us", quota) &&
         Set(cpu_v1_, "cpu.shares",
             std::clamp<uint64_t>(millis * kSharesOfProcessor / 1000, 2,
                                  262144));
}

bool JailCgroup::SetDisk(const internal::SpawnerConfig& config,
                         const internal::DiskCap& cap) const {
  return std::all_of(config.disks().begin(), config.disks().end(),
                     [&](const std::string& disk) {
                       return io_v1_.valid() ? CapDiskV1(io_v1_, disk, cap)
                                             : CapDisk(v2_, disk, cap);
                     });
}

std::vector<int> JailCgroup::V1Tasks() const {
  std::vector<int> tasks;
  for (const os::Fd* fd :
       {&memory_tasks_, &pids_tasks_, &cpu_tasks_, &io_tasks_}) {
    if (fd->valid()) tasks.push_back(fd->get());
  }
  return tasks;
}

void JailCgroup::AppendFds(internal::JailCreated& reply,
                           std::vector<int>& fds) const {
  const auto add = [&](internal::FdRole role, const os::Fd& fd) {
    if (!fd.valid()) return;
    reply.add_roles(role);
    fds.push_back(fd.get());
  };
  add(internal::FD_ROLE_KILL_JAIL, kill_jail_);
  add(internal::FD_ROLE_KILL_RUN, kill_run_);
  add(internal::FD_ROLE_RUN_EVENTS, run_events_);
  add(internal::FD_ROLE_FREEZE_RUN, freeze_run_);
  add(internal::FD_ROLE_CPU_WEIGHT, cpu_weight_);
  add(internal::FD_ROLE_CGROUP_V2, v2_);
  add(internal::FD_ROLE_CGROUP_MEMORY, memory_v1_);
  add(internal::FD_ROLE_CGROUP_PIDS, pids_v1_);
  add(internal::FD_ROLE_CGROUP_CPU, cpu_v1_);
  add(internal::FD_ROLE_OOM_EVENT, oom_event_);
}

void JailCgroup::CloseAll() {
  for (os::Fd* fd :
       {&v2_, &run_, &kill_jail_, &kill_run_, &run_events_, &freeze_run_,
        &memory_v1_, &pids_v1_, &cpu_v1_, &io_v1_, &memory_tasks_, &pids_tasks_,
        &cpu_tasks_, &io_tasks_, &oom_event_, &cpu_weight_}) {
    fd->reset();
  }
}

bool JailCgroup::Remove(const CgroupRoots& roots) {
  CloseAll();
  return RemoveNamed(roots, name_);
}

bool JailCgroup::RemoveNamed(const CgroupRoots& roots,
                             const std::string& name) {
  // If one can't be removed, the others are removed nevertheless.
  int error = 0;
  const auto note = [&error](bool removed) {
    if (!removed && error == 0) error = errno;
  };
  note(RemoveWithChildren(roots.v2, name + "/run"));
  for (const os::Fd* root : {&roots.v2, &roots.memory_v1, &roots.pids_v1,
                             &roots.cpu_v1, &roots.io_v1}) {
    note(RemoveIn(*root, name));
  }
  if (error != 0) errno = error;
  return error == 0;
}

}  // namespace sandglass::sandbox
