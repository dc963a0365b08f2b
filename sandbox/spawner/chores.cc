// The spawner's work when nobody waits: it makes parts of jails ahead, raises
// spare jails, and removes what dead ones leave.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"
#include "sandbox/spawner/netns.h"
#include "sandbox/spawner/spawner.h"

namespace sandglass::sandbox {
namespace {

// How many parts of jails are made ahead, even where no whole jail is.
constexpr size_t kSpareParts = 4;
// Network namespaces that jails have left unused are kept beyond that, up to
// this number, until no jail was asked for during this time; each takes some
// 100 KiB.
constexpr size_t kMaxSpareNetns = 32;
constexpr int64_t kSurplusNanos = 1'000'000'000;
// When the groups of a dead jail can't be removed because a process is left in
// them, it is tried again: after some milliseconds first, then ever less often,
// but at least once a second.
constexpr int64_t kRetryNanos = 5'000'000;
constexpr int64_t kMaxRetryNanos = 1'000'000'000;
constexpr int64_t kRetryShare = 16;  // of the time that it has already taken
// How long after a sign of groups that belong to no jail they are removed.
constexpr int64_t kSweepNanos = 1'000'000'000;
// The pause after a spare failed or died: trying all the time would be of no
// use.
constexpr int64_t kSpareRetryNanos = 1'000'000'000;
// The pause of chores after a jail was handed out: as long as the jail needs to
// start its program.
constexpr int64_t kCalmNanos = 2'000'000;

}  // namespace

bool Spawner::DoChore() {
  if (stock_due_ns_ != 0 && !KeepCalm()) {
    // If the daemon can't be reached, it is gone; the next receive reports
    // that.
    (void)ReportStock();
    return true;
  }
  if (!waiting_.empty() && BeginSpare()) return true;
  if (RaisingIsEnough() || KeepCalm()) return false;
  if (RemoveOneDead()) return true;
  const int64_t now = os::MonotonicNanos();
  if (LacksNetns() && netns_retry_.Due(now) && MakeSpareNetns()) return true;
  if (LacksGroups() && groups_retry_.Due(now) && MakeSpareGroup()) return true;
  if (now >= sweep_at_ns_ && SweepStrays()) return true;
  if (BeginSpare()) return true;
  if (spare_netns_.size() <= kSpareParts ||
      now < last_hand_out_ns_ + kSurplusNanos) {
    return false;
  }
  spare_netns_.pop_back();
  return true;
}

bool Spawner::LacksNetns() const { return spare_netns_.size() < kSpareParts; }

bool Spawner::LacksGroups() const {
  return spare_groups_.size() < kSpareParts && !free_slots_.empty();
}

bool Spawner::KeepCalm() const {
  return 2 * spares_.size() >= config_.spare_jails() && !spares_.empty() &&
         os::MonotonicNanos() < last_hand_out_ns_ + kCalmNanos;
}

bool Spawner::RaisingIsEnough() const {
  return !raising_.empty() && raising_.size() + 1 >= config_.parallel_raises();
}

bool Spawner::BeginSpare() {
  // Those that somebody waits for can have their parts made on the way, and
  // several are raised at once; the others one after another.
  const size_t coming = spares_.size() + raising_.size();
  const bool wanted =
      waiting_.empty() ? coming < config_.spare_jails() && raising_.empty() &&
                             !spare_groups_.empty()
                       : coming < waiting_.size() &&
                             raising_.size() < config_.parallel_raises() &&
                             (!spare_groups_.empty() || !free_slots_.empty());
  if (!wanted || os::MonotonicNanos() < spare_retry_at_ns_) return false;
  StepClock clock;
  const pid_t init = RaiseJail(likely_slots_, clock);
  if (init < 0) {
    SpareFailed(absl::StrCat(SetupStepName(static_cast<int>(clock.current())),
                             ": ", os::ErrorText(errno)));
    return false;
  }
  raising_.push_back(init);
  return true;
}

void Spawner::HandleRaised(pid_t init) {
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
  // Requests go on without spares: each makes a jail of its own, and reports if
  // that fails too.
  RecordFailure(spares_retry_, absl::StrCat("a jail made ahead failed: ", why));
  spare_retry_at_ns_ = os::MonotonicNanos() + kSpareRetryNanos;
}

void Spawner::RecordFailure(Retry& retry, absl::string_view why) {
  if (!retry.Failed(os::MonotonicNanos(), std::string(why))) return;
  std::fprintf(stderr, "sandglass-spawner: %.*s (failure %llu of its kind)\n",
               static_cast<int>(why.size()), why.data(),
               static_cast<unsigned long long>(retry.failures()));
}

void Spawner::RecordSuccess(Retry& retry) {
  const std::string why = retry.why();
  if (!retry.Succeeded()) return;
  std::fprintf(stderr, "sandglass-spawner: no more: %s\n", why.c_str());
}

int Spawner::WaitForChore() const {
  if (stock_due_ns_ != 0) return kCalmNanos / 1'000'000;
  if (RaisingIsEnough()) return -1;
  if (!waiting_.empty() && raising_.empty() && !zygote_->Comes()) return 1;
  if (zygote_.has_value() && zygote_->WaitForTend() >= 0) {
    return zygote_->WaitForTend();
  }
  if (KeepCalm()) return kCalmNanos / 1'000'000;
  int64_t next = sweep_at_ns_;
  for (const DeadJail& dead : dead_) {
    next = std::min(next, dead.retry_at_ns);
  }
  if (LacksNetns()) next = std::min(next, netns_retry_.at());
  if (spare_netns_.size() > kSpareParts) {
    next = std::min(next, last_hand_out_ns_ + kSurplusNanos);
  }
  if (LacksGroups()) next = std::min(next, groups_retry_.at());
  if (spares_.size() < config_.spare_jails() && raising_.empty() &&
      !spare_groups_.empty()) {
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
  // ORDER: the daemon has to let go first. When the init of a run dies, the
  // run's counters are read after that, and they disappear with the groups.
  // EBUSY is normal for some milliseconds: the last processes are still ending.
  // The slot stays taken until the group is gone.
  if (IsHeld(dead.init_end) || !dead.cgroup.Remove(roots_)) {
    dead.retry_at_ns = now + std::clamp((now - dead.since_ns) / kRetryShare,
                                        kRetryNanos, kMaxRetryNanos);
    dead_.push_back(std::move(dead));
    return false;
  }
  free_slots_.push_back(dead.slot);
  KeepUnusedNetns(dead);
  if (dead.id != 0) {
    internal::SpawnerEvent event;
    event.mutable_gone()->set_jail_id(dead.id);
    // If the daemon can't be reached, it is gone; the next receive reports
    // that.
    (void)Send(event, {});
  }
  return true;
}

void Spawner::KeepUnusedNetns(DeadJail& dead) {
  bool unused = false;
  // The daemon says it last. Where it has left something unread itself, an
  // error (ECONNRESET) comes before all that it has sent.
  for (int errors = 0; errors < 2;) {
    absl::StatusOr<os::Packet> packet =
        os::ReceivePacket(dead.init_end.get(), os::Wait::kNo);
    if (!packet.ok()) {
      ++errors;
      continue;
    }
    internal::InitRequest request;
    unused = packet->fds.empty() && request.ParseFromString(packet->data) &&
             request.has_network_unused();
  }
  if (!unused || !dead.netns.valid() || spare_netns_.size() >= kMaxSpareNetns) {
    return;
  }
  spare_netns_.push_back(std::move(dead.netns));
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
    const int error = errno;
    RecordFailure(groups_retry_, cgroup.status().message());
    // Undoing the failed step may have failed, too.
    sweep_at_ns_ = std::min(sweep_at_ns_, os::MonotonicNanos() + kSweepNanos);
    errno = error;
    return false;
  }
  RecordSuccess(groups_retry_);
  free_slots_.pop_front();
  spare_groups_.push_back({slot, *std::move(cgroup)});
  return true;
}

bool Spawner::MakeSpareNetns() {
  absl::StatusOr<os::Fd> netns = MakeNetns(home_netns_);
  if (!netns.ok()) {
    const int error = errno;
    RecordFailure(netns_retry_, netns.status().message());
    errno = error;
    return false;
  }
  RecordSuccess(netns_retry_);
  spare_netns_.push_back(*std::move(netns));
  return true;
}

}  // namespace sandglass::sandbox
