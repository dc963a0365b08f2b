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
#include <cstdio>
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
#include "sandbox/spawner/masked_proc.h"
#include "sandbox/spawner/netns.h"
#include "sandbox/spawner/request.h"
#include "sandbox/uid_slice.h"

namespace sandglass::sandbox {
namespace {

// Parts of a jail that are made ahead even where no whole one is.
constexpr size_t kSpareParts = 4;
// Groups of the dead are removed as soon as the last process is gone: from some
// milliseconds on ever less often, at least once a second.
constexpr int64_t kRetryNanos = 5'000'000;
constexpr int64_t kMostRetryNanos = 1'000'000'000;
constexpr int64_t kRetryShare = 16;  // of the time that it takes already
// From a sign of groups that belong to no jail to their removal.
constexpr int64_t kSweepNanos = 1'000'000'000;
constexpr useconds_t kPauseMicros = 1000;
// After a spare that failed or died: no use in trying all the time.
constexpr int64_t kSpareRetryNanos = 1'000'000'000;
// From a hand-out until chores go on: as long as the jail needs to get its
// program going.
constexpr int64_t kCalmNanos = 2'000'000;
// Taking stock waits so long for a moment in which nobody waits.
constexpr int64_t kStockNanos = 50'000'000;

// What a failed step tells of a status: that there was too little of something
// is worth another try.
int ErrnoOf(const absl::Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status)
             ? ENOSPC
             : EIO;
}

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
  os::HearOfEndsOnly();
  children_.reset(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!children_.valid()) return os::ErrnoStatus("signalfd");

  if (!FindMaskedProc(masked_files_, masked_directories_)) {
    return os::ErrnoStatus("list /proc");
  }
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
  std::vector<struct pollfd> fds = {
      {channel_.get(), POLLIN, 0},
      {children_.get(), POLLIN, 0},
      {raising_ < 0 ? -1 : live_.at(raising_).control.get(), POLLIN, 0}};
  if (zygote_.has_value()) zygote_->AddPolls(fds);
  int ready = ::poll(fds.data(), fds.size(), 0);
  if (ready == 0 && !DoChore()) {
    ready = ::poll(fds.data(), fds.size(), WaitForChore());
  }
  if (ready < 0) {
    // ENOMEM passes, and no jail of this yard ends by it.
    if (errno != EINTR) ::usleep(kPauseMicros);
    return absl::OkStatus();
  }
  if (fds[0].revents != 0) {
    if (absl::Status status = TakeRequest(); !status.ok()) return status;
  }
  if (fds[2].revents != 0 && raising_ >= 0) TakeRaised();
  // Before deaths: the pid of a runner first, then its end.
  if (zygote_.has_value()) TakeFillReplies();
  if (fds[1].revents != 0) Reap();
  if (absl::Status status = ServeWaiting(); !status.ok()) return status;
  const bool due = stock_due_ns_ != 0 && os::MonotonicNanos() >= stock_due_ns_;
  return due ? TellStock() : absl::OkStatus();
}

absl::Status Spawner::TakeRequest() {
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
  NoteLikely(request.slots());
  if (request.with_runner()) {
    zygote_->Want();
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
  while (!given && ((init = TakeSpare(request.slots())) >= 0 ||
                    // Further than a new one would be; what its init reports
                    // goes to the daemon.
                    (init = TakeRaising(request.slots())) >= 0)) {
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
  // Until init lives, a failure sends the group to the dead.
  const auto give_up = [&] {
    const int error = errno;
    dead_.push_back({0, group.slot, std::move(group.cgroup), os::Fd()});
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
  plan.image = YardImage(slots.image());
  plan.landlock_abi = config_.landlock_abi();
  plan.trace_calls = config_.trace_calls();
  plan.masked_files = masked_files_;
  plan.masked_directories = masked_directories_;
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
                .pidfd = os::Fd(pidfd),
                .control = std::move(control->first),
                .netlink_sockets = std::move(netlink_sockets),
                .netns = std::move(netns),
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
  // Never for one pid: an init whose namespace holds a process that was joined
  // from outside isn't reapable before that one is.
  int wait_status = 0;
  for (pid_t pid; (pid = ::waitpid(-1, &wait_status, WNOHANG)) > 0;) {
    if (os::LetGoIfStopped(pid, wait_status)) continue;
    if (const auto runner = runners_.find(pid); runner != runners_.end()) {
      TellExit(runner->second, wait_status);
      runners_.erase(runner);
      continue;
    }
    const auto found = live_.find(pid);
    if (found == live_.end()) {
      // A runner whose pid isn't told yet, or never will be.
      if (zygote_.has_value() && !zygote_->NoteDeath(pid) &&
          zygote_->OwesReplies()) {
        early_exits_[pid] = wait_status;
      }
      continue;
    }
    if (std::erase(spares_, pid) > 0) {
      SpareFailed("it died while it waited");
    } else if (pid == raising_) {
      raising_ = -1;
      SpareFailed("its init died");
    }
    // What the daemon reads behind init's last words is their end.
    ::shutdown(found->second.init_end.get(), SHUT_WR);
    dead_.push_back({found->second.id, found->second.slot,
                     std::move(found->second.cgroup),
                     std::move(found->second.init_end)});
    live_.erase(found);
  }
}

bool Spawner::DoChore() {
  if (stock_due_ns_ != 0 && !KeepCalm()) {
    // A daemon that can't be told is gone; the next receive says so.
    (void)TellStock();
    return true;
  }
  // One at a time, the part of a spare's init included: what is in flight keeps
  // the other processors.
  if (raising_ >= 0) return false;
  if (!waiting_.empty() && BeginSpare()) return true;
  if (KeepCalm()) return false;
  if (RemoveOneDead()) return true;
  const int64_t now = os::MonotonicNanos();
  if (LacksNetns() && netns_retry_.Due(now) && MakeSpareNetns()) return true;
  if (LacksGroups() && groups_retry_.Due(now) && MakeSpareGroup()) return true;
  if (now >= sweep_at_ns_ && SweepStrays()) return true;
  return BeginSpare();
}

bool Spawner::LacksNetns() const { return spare_netns_.size() < kSpareParts; }

bool Spawner::LacksGroups() const {
  return spare_groups_.size() < kSpareParts && !free_slots_.empty();
}

bool Spawner::KeepCalm() const {
  return 2 * spares_.size() >= config_.spare_jails() && !spares_.empty() &&
         os::MonotonicNanos() < last_hand_out_ns_ + kCalmNanos;
}

bool Spawner::BeginSpare() {
  // One that is waited for makes its parts as it goes.
  const bool wanted =
      waiting_.empty()
          ? spares_.size() < config_.spare_jails() && !spare_groups_.empty()
          : spares_.empty() && (!spare_groups_.empty() || !free_slots_.empty());
  if (!wanted || os::MonotonicNanos() < spare_retry_at_ns_) return false;
  StepClock clock;
  raising_ = RaiseJail(likely_slots_, clock);
  if (raising_ < 0) {
    SpareFailed(absl::StrCat(SetupStepName(static_cast<int>(clock.current())),
                             ": ", os::ErrorText(errno)));
  }
  return raising_ >= 0;
}

void Spawner::TakeRaised() {
  const pid_t init = std::exchange(raising_, -1);
  LiveJail& jail = live_.at(init);
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(jail.control.get(), os::Wait::kNo);
  internal::InitEvent event;
  if (packet.ok() && event.ParseFromString(packet->data) &&
      event.has_raised()) {
    jail.steps.MergeFrom(event.raised().steps());
    spares_.push_back(init);
    (void)spares_retry_.Succeeded();
    return;
  }
  os::PidfdSendSignal(jail.pidfd, SIGKILL);
  SpareFailed(event.has_failed()
                  ? absl::StrCat(SetupStepName(event.failed().step()), ": ",
                                 os::ErrorText(event.failed().error()))
                  : "its init died");
}

void Spawner::SpareFailed(absl::string_view why) {
  // Requests go on without: each makes a jail of its own and hears of it if
  // that fails, too.
  NoteFailed(spares_retry_, absl::StrCat("a jail made ahead failed: ", why));
  spare_retry_at_ns_ = os::MonotonicNanos() + kSpareRetryNanos;
}

void Spawner::NoteFailed(Retry& retry, absl::string_view why) {
  if (!retry.Failed(os::MonotonicNanos(), std::string(why))) return;
  std::fprintf(stderr, "sandglass-spawner: %.*s (failure %llu of its kind)\n",
               static_cast<int>(why.size()), why.data(),
               static_cast<unsigned long long>(retry.failures()));
}

void Spawner::NoteMade(Retry& retry) {
  const std::string why = retry.why();
  if (!retry.Succeeded()) return;
  std::fprintf(stderr, "sandglass-spawner: no more: %s\n", why.c_str());
}

int Spawner::WaitForChore() const {
  if (stock_due_ns_ != 0) return kCalmNanos / 1'000'000;
  if (raising_ >= 0) return -1;
  if (!waiting_.empty() && !zygote_->Comes()) return 1;
  if (zygote_.has_value() && zygote_->WaitForTend() >= 0) {
    return zygote_->WaitForTend();
  }
  if (KeepCalm()) return kCalmNanos / 1'000'000;
  int64_t next = sweep_at_ns_;
  for (const DeadJail& dead : dead_) {
    next = std::min(next, dead.retry_at_ns);
  }
  if (LacksNetns()) next = std::min(next, netns_retry_.at());
  if (LacksGroups()) next = std::min(next, groups_retry_.at());
  if (spares_.size() < config_.spare_jails() && !spare_groups_.empty()) {
    next = std::min(next, spare_retry_at_ns_);
  }
  if (next == kNever) return -1;
  constexpr int64_t kMilli = 1'000'000;
  return static_cast<int>(
      std::clamp<int64_t>(next - os::MonotonicNanos() + kMilli - 1, kMilli,
                          kSpareRetryNanos) /
      kMilli);
}

bool Spawner::RemoveOneDead() {
  const int64_t now = os::MonotonicNanos();
  const auto next = std::find_if(
      dead_.begin(), dead_.end(),
      [now](const DeadJail& each) { return now >= each.retry_at_ns; });
  if (next == dead_.end()) return false;
  DeadJail dead = std::move(*next);
  dead_.erase(next);
  // ORDER: the daemon lets go first. The counters of a run whose init died are
  // to be read after that, and go with the groups.
  // EBUSY for some milliseconds is normal: the last processes are on their way
  // out. The slot stays taken until the group is gone.
  if (IsHeld(dead.init_end) || !dead.cgroup.Remove(roots_)) {
    dead.retry_at_ns = now + std::clamp((now - dead.since_ns) / kRetryShare,
                                        kRetryNanos, kMostRetryNanos);
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

bool Spawner::MakeSpareGroup() {
  if (free_slots_.empty()) {
    errno = EAGAIN;
    return false;
  }
  const UidSlot slot = free_slots_.front();
  absl::StatusOr<JailCgroup> cgroup =
      JailCgroup::Create(roots_, absl::StrCat("jail-", ++serial_), slot.init);
  if (!cgroup.ok()) {
    const int error = ErrnoOf(cgroup.status());
    NoteFailed(groups_retry_, cgroup.status().message());
    // Undoing it may have failed, too.
    sweep_at_ns_ = std::min(sweep_at_ns_, os::MonotonicNanos() + kSweepNanos);
    errno = error;
    return false;
  }
  NoteMade(groups_retry_);
  free_slots_.pop_front();
  spare_groups_.push_back({slot, *std::move(cgroup)});
  return true;
}

bool Spawner::MakeSpareNetns() {
  absl::StatusOr<os::Fd> netns = MakeNetns(home_netns_);
  if (!netns.ok()) {
    const int error = ErrnoOf(netns.status());
    NoteFailed(netns_retry_, netns.status().message());
    errno = error;
    return false;
  }
  NoteMade(netns_retry_);
  spare_netns_.push_back(*std::move(netns));
  return true;
}

absl::Status Spawner::Send(const internal::SpawnerEvent& event,
                           const std::vector<int>& fds) {
  absl::Status sent;
  do {
    sent = os::SendPacket(channel_.get(), event.SerializeAsString(), fds,
                          os::Wait::kYes);
    // Nothing but the kernel's memory is wanted for words alone, and a word
    // that the daemon never hears would keep a jail's place for ever.
  } while (fds.empty() && absl::IsResourceExhausted(sent));
  return sent;
}

}  // namespace sandglass::sandbox
