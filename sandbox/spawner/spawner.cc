#include "sandbox/spawner/spawner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/jailed/init.h"
#include "sandbox/jailed/layout.h"
#include "sandbox/os/files.h"
#include "sandbox/os/namespaces.h"
#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"
#include "sandbox/spawner/netns.h"

namespace sandglass::sandbox {
namespace {

// Spares cover a burst on a small machine; more would only hold kernel memory.
constexpr size_t kSpares = 4;
// First uid of the yard's slice that jails use; 0 is the spawner itself.
constexpr uid_t kFirstJailUid = 1000;
constexpr int64_t kRetryNanos = 5'000'000;

// Parts of /proc that tell of the host or of other users. The jail's /proc is
// read-only as well; this is what may not even be read.
constexpr const char* kMaskedProcPaths[] = {
    "/proc/acpi",
    "/proc/asound",
    "/proc/bus",
    "/proc/driver",
    "/proc/fs",
    "/proc/irq",
    "/proc/scsi",
    "/proc/tty",
    "/proc/sysvipc",
    "/proc/kcore",
    "/proc/keys",
    "/proc/key-users",
    "/proc/kallsyms",
    "/proc/kmsg",
    "/proc/latency_stats",
    "/proc/modules",
    "/proc/pagetypeinfo",
    "/proc/sched_debug",
    "/proc/slabinfo",
    "/proc/sysrq-trigger",
    "/proc/timer_list",
    "/proc/interrupts",
    "/proc/softirqs",
    "/proc/vmallocinfo",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/kpagecgroup",
    "/proc/config.gz",
};

bool SlotsWithin(const internal::JailSlots& slots,
                 const internal::JailSlots& maximum) {
  const auto within = [](uint64_t value, uint64_t highest) {
    return value > 0 && value <= highest;
  };
  return within(slots.memory_bytes(), maximum.memory_bytes()) &&
         within(slots.max_processes(), maximum.max_processes()) &&
         within(slots.cpu_millis(), maximum.cpu_millis()) &&
         within(slots.tmp_bytes(), maximum.tmp_bytes()) &&
         within(slots.workspace_bytes(), maximum.workspace_bytes()) &&
         within(slots.max_files(), maximum.max_files());
}

}  // namespace

Spawner::Spawner(internal::SpawnerConfig config, os::Fd channel,
                 CgroupRoots roots)
    : config_(std::move(config)),
      channel_(std::move(channel)),
      roots_(std::move(roots)) {}

absl::Status Spawner::Prepare() {
  absl::StatusOr<os::Fd> home = CurrentNetns();
  if (!home.ok()) return home.status();
  home_netns_ = *std::move(home);

  sigset_t mask;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGCHLD);
  os::ChangeSignalMask(SIG_BLOCK, mask);
  children_.reset(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!children_.valid()) return os::ErrnoStatus("signalfd");

  for (const char* path : kMaskedProcPaths) {
    struct stat info = {};
    if (::lstat(path, &info) != 0) continue;
    (S_ISDIR(info.st_mode) ? masked_directories_ : masked_files_)
        .emplace_back(path);
  }
  for (uint32_t i = 0; i < config_.max_jails(); ++i) {
    const uid_t first = kFirstJailUid + 2 * i;
    free_slots_.push_back({first, first + 1});
  }
  return absl::OkStatus();
}

absl::Status Spawner::Run() {
  if (absl::Status status = Prepare(); !status.ok()) return status;
  internal::SpawnerEvent event;
  event.mutable_ready();
  if (absl::Status status = Send(event, {}); !status.ok()) return status;
  for (;;) {
    absl::Status status = ServeOnce();
    if (absl::IsOutOfRange(status)) return absl::OkStatus();
    if (!status.ok()) return status;
  }
}

absl::Status Spawner::ServeOnce() {
  struct pollfd fds[2] = {{channel_.get(), POLLIN, 0},
                          {children_.get(), POLLIN, 0}};
  int ready = ::poll(fds, 2, 0);
  if (ready == 0 && !DoChore()) {
    ready = ::poll(fds, 2, dead_.empty() ? -1 : 5);
  }
  if (ready < 0 && errno != EINTR) return os::ErrnoStatus("poll");
  if (fds[0].revents != 0) {
    if (absl::Status status = TakeRequest(); !status.ok()) return status;
  }
  if (fds[1].revents != 0) Reap();
  return absl::OkStatus();
}

absl::Status Spawner::TakeRequest() {
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(channel_.get(), os::Wait::kNo);
  if (absl::IsNotFound(packet.status())) return absl::OkStatus();
  if (!packet.ok()) return packet.status();
  internal::SpawnerRequest request;
  if (!packet->fds.empty() || !request.ParseFromString(packet->data) ||
      request.request_case() != internal::SpawnerRequest::kCreate) {
    return absl::InvalidArgumentError("malformed request; the channel is over");
  }
  return CreateJail(request.create());
}

const internal::Template* Spawner::FindTemplate(const std::string& name) const {
  for (const internal::Template& candidate : config_.templates()) {
    if (candidate.name() == name) return &candidate;
  }
  return nullptr;
}

absl::Status Spawner::CreateJail(const internal::CreateJail& request) {
  const internal::Template* wanted = FindTemplate(request.template_name());
  // The daemon is checked like a stranger: it faces the network.
  if (wanted == nullptr || !SlotsWithin(request.slots(), wanted->maximum())) {
    return absl::InvalidArgumentError(
        absl::StrCat("a jail outside its template was asked for (template '",
                     request.template_name(), "'); the channel is over"));
  }
  internal::SpawnerEvent event;
  internal::JailCreated* reply = event.mutable_created();
  reply->set_jail_id(request.jail_id());
  std::vector<os::Fd> owned;
  std::vector<int> fds;
  StepClock clock;
  pid_t init = -1;
  if (spare_groups_.empty() && free_slots_.empty()) {
    reply->set_no_slot(true);
  } else if ((init = BuildJail(request, clock, *reply, owned, fds)) < 0) {
    reply->mutable_failure()->set_error(errno);
    reply->mutable_failure()->set_step(static_cast<int>(clock.current()));
    reply->clear_roles();
    fds.clear();
  }
  absl::Status sent = Send(event, fds);
  // The daemon has its copies now, and the spawner needs only the name.
  if (const auto made = live_.find(init); made != live_.end()) {
    made->second.cgroup.CloseAll();
  }
  return sent;
}

pid_t Spawner::BuildJail(const internal::CreateJail& request, StepClock& clock,
                         internal::JailCreated& reply,
                         std::vector<os::Fd>& owned, std::vector<int>& fds) {
  clock.Begin(SetupStep::kPrepareCgroup);
  if (spare_groups_.empty()) {
    const absl::Status made = MakeSpareGroup();
    if (!made.ok()) {
      errno = EIO;
      return -1;
    }
  }
  SpareGroup group = std::move(spare_groups_.front());
  spare_groups_.pop_front();
  // Until init lives, a failure sends the group to the dead.
  const auto give_up = [&] {
    const int error = errno;
    dead_.push_back({0, group.slot, std::move(group.cgroup)});
    errno = error;
    return pid_t{-1};
  };

  clock.Begin(SetupStep::kSetLimits);
  if (!group.cgroup.SetLimits(config_, request.slots())) return give_up();

  clock.Begin(SetupStep::kEnterNetns);
  os::Fd netns;
  if (spare_netns_.empty()) {
    absl::StatusOr<os::Fd> made = MakeNetns(home_netns_);
    if (!made.ok()) {
      errno = EIO;
      return give_up();
    }
    netns = *std::move(made);
  } else {
    netns = std::move(spare_netns_.front());
    spare_netns_.pop_front();
  }
  if (!os::EnterNetworkNamespace(netns)) return give_up();

  const internal::Template& wanted = *FindTemplate(request.template_name());
  absl::StatusOr<std::pair<os::Fd, os::Fd>> control = os::SeqPacketPair();
  JailPlan plan;
  plan.tmp_bytes = request.slots().tmp_bytes();
  plan.workspace_bytes = request.slots().workspace_bytes();
  plan.max_files = request.slots().max_files();
  plan.landlock_abi = config_.landlock_abi();
  plan.seccomp = absl::MakeConstSpan(
      reinterpret_cast<const sock_filter*>(wanted.seccomp().data()),
      wanted.seccomp().size() / sizeof(sock_filter));
  plan.masked_files = masked_files_;
  plan.masked_directories = masked_directories_;
  plan.run_cgroup = group.cgroup.run().get();
  plan.v1_tasks = group.cgroup.V1Tasks();
  if (control.ok()) plan.control = control->second.get();

  clock.Begin(SetupStep::kCloneInit);
  int pidfd = -1;
  pid_t init = -1;
  if (control.ok()) {
    init = os::Clone3({.flags = os::kNewUser | os::kNewPid | os::kNewMount |
                                os::kNewIpc | os::kNewUts,
                       .cgroup_fd = group.cgroup.v2().get(),
                       .pidfd = &pidfd});
  }
  if (init == 0) {
    control->first.reset();  // the daemon's end, else init never sees it close
    RunInit(plan);
  }
  const int clone_error = errno;

  clock.Begin(SetupStep::kLeaveNetns);
  // Left in a jail's network namespace, every later jail would share it.
  if (!os::EnterNetworkNamespace(home_netns_)) ::abort();
  if (init < 0) {
    clock.Begin(SetupStep::kCloneInit);
    errno = clone_error;
    return give_up();
  }
  os::Fd init_pidfd(pidfd);

  clock.Begin(SetupStep::kMapUids);
  const bool mapped =
      MapUids(init, group.slot) &&
      os::SendPacket(control->first.get(), "go", {}, os::Wait::kNo).ok();
  if (!mapped) {
    const int error = errno;
    os::PidfdSendSignal(init_pidfd, SIGKILL);
    live_.emplace(init, LiveJail{0, group.slot, std::move(group.cgroup)});
    errno = error;
    return -1;
  }
  clock.End();

  for (const StepClock::Entry& entry : clock.entries()) {
    internal::StepTime* step = reply.add_steps();
    step->set_step(static_cast<int>(entry.step));
    step->set_nanoseconds(static_cast<uint64_t>(entry.nanoseconds));
  }
  reply.add_roles(internal::FD_ROLE_INIT_PIDFD);
  fds.push_back(init_pidfd.get());
  reply.add_roles(internal::FD_ROLE_CONTROL);
  fds.push_back(control->first.get());
  auto [entry, inserted] = live_.emplace(
      init, LiveJail{request.jail_id(), group.slot, std::move(group.cgroup)});
  entry->second.cgroup.AppendFds(reply, fds);
  owned.push_back(std::move(init_pidfd));
  owned.push_back(std::move(control->first));
  return init;
}

bool Spawner::MapUids(pid_t init, const UidSlot& slot) {
  const std::string map = absl::StrCat(kInitUid, " ", slot.init, " 1\n",
                                       kCodeUid, " ", slot.code, " 1\n");
  const std::string proc = absl::StrCat("/proc/", init);
  return os::WriteControlFile(AT_FDCWD, (proc + "/uid_map").c_str(), map) &&
         os::WriteControlFile(AT_FDCWD, (proc + "/gid_map").c_str(), map);
}

void Spawner::Reap() {
  struct signalfd_siginfo info;
  while (::read(children_.get(), &info, sizeof(info)) > 0) {
  }
  // Never for one pid: an init whose namespace holds a process that was joined
  // from outside isn't reapable before that one is.
  for (pid_t pid; (pid = ::waitpid(-1, nullptr, WNOHANG)) > 0;) {
    const auto found = live_.find(pid);
    if (found == live_.end()) continue;
    dead_.push_back({found->second.id, found->second.slot,
                     std::move(found->second.cgroup)});
    live_.erase(found);
  }
}

bool Spawner::DoChore() {
  if (RemoveOneDead()) return true;
  if (spare_netns_.size() < kSpares) {
    absl::StatusOr<os::Fd> netns = MakeNetns(home_netns_);
    if (netns.ok()) {
      spare_netns_.push_back(*std::move(netns));
      return true;
    }
  }
  return spare_groups_.size() < kSpares && !free_slots_.empty() &&
         MakeSpareGroup().ok();
}

bool Spawner::RemoveOneDead() {
  if (dead_.empty() || os::MonotonicNanos() < retry_at_ns_) return false;
  DeadJail dead = std::move(dead_.front());
  dead_.pop_front();
  if (!dead.cgroup.Remove(roots_)) {
    // EBUSY for some milliseconds is normal: the last processes are on their
    // way out. The slot stays taken until the group is gone.
    ++dead.attempts;
    retry_at_ns_ = os::MonotonicNanos() + kRetryNanos;
    dead_.push_back(std::move(dead));
    return false;
  }
  free_slots_.push_back(dead.slot);
  if (dead.id != 0) {
    internal::SpawnerEvent event;
    event.mutable_gone()->set_jail_id(dead.id);
    // A daemon that can't be told is gone; the next receive says so.
    (void)Send(event, {});
  }
  return true;
}

absl::Status Spawner::MakeSpareGroup() {
  if (free_slots_.empty()) {
    return absl::ResourceExhaustedError("no uid slot is free");
  }
  const UidSlot slot = free_slots_.front();
  absl::StatusOr<JailCgroup> cgroup =
      JailCgroup::Create(roots_, absl::StrCat("jail-", ++serial_), slot.init);
  if (!cgroup.ok()) return cgroup.status();
  free_slots_.pop_front();
  spare_groups_.push_back({slot, *std::move(cgroup)});
  return absl::OkStatus();
}

absl::Status Spawner::Send(const internal::SpawnerEvent& event,
                           const std::vector<int>& fds) {
  return os::SendPacket(channel_.get(), event.SerializeAsString(), fds,
                        os::Wait::kYes);
}

}  // namespace sandglass::sandbox
