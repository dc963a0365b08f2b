#include "sandbox/spawner/spawner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/jailed/init.h"
#include "sandbox/os/files.h"
#include "sandbox/os/io.h"
#include "sandbox/os/namespaces.h"
#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"
#include "sandbox/spawner/masked_proc.h"
#include "sandbox/spawner/netns.h"
#include "sandbox/spawner/request.h"
#include "sandbox/wire/jail_layout.h"
#include "sandbox/wire/uid_slice.h"

namespace sandglass::sandbox {
namespace {

// Taking stock waits so long for a moment in which nobody waits.
constexpr int64_t kStockNanos = 50'000'000;

}  // namespace

bool Spawner::IsHeld(const os::Fd& init_end) {
  struct pollfd fd = {init_end.get(), 0, 0};
  return init_end.valid() && ::poll(&fd, 1, 0) == 0;
}

Spawner::Spawner(internal::SpawnerConfig config, os::Fd channel,
                 CgroupRoots roots, os::Fd template_ledger)
    : config_(std::move(config)),
      templates_(config_, std::move(template_ledger)),
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
  os::IgnoreStoppedChildren();
  children_.reset(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!children_.valid()) return os::ErrnoStatus("signalfd");

  if (!FindMaskedProc(masked_files_, masked_directories_)) {
    return os::ErrnoStatus("list /proc");
  }
  absl::StatusOr<std::string> cpuinfo = os::ReadWholeFile("/proc/cpuinfo");
  if (!cpuinfo.ok()) return cpuinfo.status();
  cpuinfo_ = *std::move(cpuinfo);
  if (config_.templates_size() > 0) {
    likely_slots_ = config_.templates(0).maximum();
    likely_slots_.set_image(config_.zygote().image());
    likely_slots_.clear_disk();
  }
  if (config_.has_zygote()) zygote_.emplace(config_);
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
  if (zygote_.has_value()) zygote_->Tend();
  std::vector<struct pollfd> fds = {{channel_.get(), POLLIN, 0},
                                    {children_.get(), POLLIN, 0}};
  const std::deque<pid_t> raising = raising_;
  for (const pid_t init : raising) {
    fds.push_back({live_.at(init).control.get(), POLLIN, 0});
  }
  if (zygote_.has_value()) zygote_->AddPolls(fds);
  int ready = ::poll(fds.data(), fds.size(), 0);
  if (ready == 0 && !DoChore()) {
    ready = ::poll(fds.data(), fds.size(), WaitForChore());
  }
  if (ready < 0) {
    // ENOMEM passes, and no jail of this yard ends by it.
    if (errno != EINTR) ::usleep(os::kShortagePauseMicros);
    return absl::OkStatus();
  }
  if (fds[0].revents != 0) {
    if (absl::Status status = HandleRequest(); !status.ok()) return status;
  }
  for (size_t i = 0; i < raising.size(); ++i) {
    // A request may have been given it meanwhile.
    if (fds[2 + i].revents != 0 && std::erase(raising_, raising[i]) > 0) {
      HandleRaised(raising[i]);
    }
  }
  // Before deaths are handled, so that a runner's pid is known before its end.
  if (zygote_.has_value()) {
    HandleFillReplies();
    if (absl::Status sent = ReportZygote(); !sent.ok()) return sent;
  }
  if (fds[1].revents != 0) Reap();
  if (absl::Status status = ServeWaiting(); !status.ok()) return status;
  const bool due = stock_due_ns_ != 0 && os::MonotonicNanos() >= stock_due_ns_;
  return due ? ReportStock() : absl::OkStatus();
}

absl::Status Spawner::ReportZygote() {
  if (zygote_->Serves() == zygote_served_) return absl::OkStatus();
  zygote_served_ = !zygote_served_;
  internal::SpawnerEvent event;
  event.mutable_zygote()->set_serves(zygote_served_);
  return Send(event, {});
}

absl::Status Spawner::HandleRequest() {
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(channel_.get(), os::Wait::kNo);
  if (absl::IsNotFound(packet.status())) return absl::OkStatus();
  if (!packet.ok()) return packet.status();
  const absl::StatusOr<internal::SpawnerRequest> request =
      ReadRequest(templates_, ZygoteOf(config_), *packet);
  if (!request.ok()) return request.status();
  if (request->has_create()) return CreateJail(request->create());
  if (stock_due_ns_ == 0) stock_due_ns_ = os::MonotonicNanos() + kStockNanos;
  return absl::OkStatus();
}

absl::Status Spawner::CreateJail(const internal::CreateJail& request) {
  RecordLikely(request.slots());
  if (request.with_runner()) {
    zygote_->RequestStart();
    waiting_.push_back(request);
    return absl::OkStatus();
  }
  internal::SpawnerEvent event;
  internal::JailCreated* reply = event.mutable_created();
  reply->set_jail_id(request.jail_id());
  std::vector<int> fds;
  StepClock clock;
  pid_t init;
  bool given = false;
  while (!given && ((init = PopSpare(request.slots())) >= 0 ||
                    // It has got further than a new one would have; what its
                    // init reports goes to the daemon.
                    (init = PopRaising(request.slots())) >= 0)) {
    given = HandOut(init, request, clock, *reply, fds);
    reply->set_made_ahead(given);
  }
  if (!given && spare_groups_.empty() && free_slots_.empty()) {
    reply->set_no_slot(true);
  } else if (!given) {
    given = (init = RaiseJail(request.slots(), clock)) >= 0 &&
            HandOut(init, request, clock, *reply, fds);
    if (!given) {
      reply->mutable_failure()->set_error(errno);
      reply->mutable_failure()->set_step(static_cast<int>(clock.current()));
    }
  }
  return AnswerCreate(init, given, event, fds);
}

pid_t Spawner::RaiseJail(const internal::JailSlots& slots, StepClock& clock) {
  clock.Begin(SetupStep::kPrepareCgroup);
  if (spare_groups_.empty() && !MakeSpareGroup()) return -1;
  SpareGroup group = std::move(spare_groups_.front());
  spare_groups_.pop_front();
  // Until init lives, a failure only leaves groups, which are handled like
  // those of the dead.
  const auto give_up = [&] {
    const int error = errno;
    dead_.push_back(
        {0, group.slot, std::move(group.cgroup), os::Fd(), os::Fd()});
    errno = error;
    return pid_t{-1};
  };

  clock.Begin(SetupStep::kSetLimits);
  if (!group.cgroup.SetLimits(config_, roots_, slots)) return give_up();

  clock.Begin(SetupStep::kEnterNetns);
  if (spare_netns_.empty() && !MakeSpareNetns()) return give_up();
  os::Fd netns = std::move(spare_netns_.front());
  spare_netns_.pop_front();
  if (!os::EnterNetworkNamespace(netns)) return give_up();
  os::Fd netlink_sockets = OpenNetlinkSockets();
  const int open_error = errno;

  absl::StatusOr<std::pair<os::Fd, os::Fd>> control = os::SeqPacketPair();
  JailPlan plan;
  plan.scratch = {slots.tmp_bytes(), slots.workspace_bytes(),
                  slots.max_files()};
  plan.limits = {slots.memory_bytes(), slots.max_processes(),
                 slots.cpu_millis()};
  plan.image = YardImage(slots.image());
  plan.landlock_abi = config_.landlock_abi();
  plan.trace_calls = config_.trace_calls();
  plan.masked_files = masked_files_;
  plan.masked_directories = masked_directories_;
  plan.cpuinfo = cpuinfo_;
  plan.run_cgroup = group.cgroup.run().get();
  plan.v1_tasks = group.cgroup.V1Tasks();
  if (control.ok()) plan.control = control->second.get();

  clock.Begin(SetupStep::kCloneInit);
  int pidfd = -1;
  pid_t init = -1;
  if (control.ok() && netlink_sockets.valid()) {
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
  LeaveNetns(home_netns_);
  if (!netlink_sockets.valid()) {
    clock.Begin(SetupStep::kEnterNetns);
    errno = open_error;
    return give_up();
  }
  if (init < 0) {
    clock.Begin(SetupStep::kCloneInit);
    errno = clone_error;
    return give_up();
  }

  clock.Begin(SetupStep::kMapUids);
  const bool mapped =
      MapUids(init, group.slot) &&
      os::SendPacket(control->first.get(), "go", {}, os::Wait::kNo).ok();
  const int map_error = errno;
  clock.End();
  LiveJail jail{.slot = group.slot,
                .cgroup = std::move(group.cgroup),
                .netns = std::move(netns),
                .pidfd = os::Fd(pidfd),
                .control = std::move(control->first),
                .netlink_sockets = std::move(netlink_sockets),
                .doors = {},
                .init_end = std::move(control->second)};
  for (const StepClock::Entry& entry : clock.entries()) {
    internal::StepTime* step = jail.steps.Add();
    step->set_step(static_cast<int>(entry.step));
    step->set_nanoseconds(static_cast<uint64_t>(entry.nanoseconds));
  }
  if (!mapped) os::PidfdSendSignal(jail.pidfd, SIGKILL);
  live_.emplace(init, std::move(jail));
  errno = map_error;
  return mapped ? init : -1;
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
  // Never for one pid: an init whose namespace contains a process that joined
  // it from outside can't be reaped before that process is.
  int wait_status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    if (os::LetGoIfStopped(pid, wait_status)) continue;
    if (const auto runner = runners_.find(pid); runner != runners_.end()) {
      ReportExit(runner->second, wait_status);
      runners_.erase(runner);
      continue;
    }
    const auto found = live_.find(pid);
    if (found == live_.end()) {
      // A runner whose pid wasn't reported yet, or never will be.
      if (zygote_.has_value() && !zygote_->HandleDeath(pid) &&
          zygote_->OwesReplies()) {
        early_exits_[pid] = wait_status;
      }
      continue;
    }
    if (std::erase(spares_, pid) > 0) {
      SpareFailed("it died while it waited");
    } else if (std::erase(raising_, pid) > 0) {
      SpareFailed("its init died");
    }
    // After init's last messages the daemon then reads the end.
    ::shutdown(found->second.init_end.get(), SHUT_WR);
    dead_.push_back(
        {found->second.id, found->second.slot, std::move(found->second.cgroup),
         std::move(found->second.init_end), std::move(found->second.netns)});
    live_.erase(found);
  }
}

absl::Status Spawner::Send(const internal::SpawnerEvent& event,
                           const std::vector<int>& fds) {
  absl::Status sent;
  do {
    sent = os::SendPacket(channel_.get(), event.SerializeAsString(), fds,
                          os::Wait::kYes);
    // A message without descriptors fails only for want of kernel memory, and
    // if the daemon never received it, a jail's place would stay taken for
    // ever.
  } while (fds.empty() && absl::IsResourceExhausted(sent));
  return sent;
}

}  // namespace sandglass::sandbox
