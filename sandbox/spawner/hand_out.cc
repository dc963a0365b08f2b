// The part of the spawner that hands out jails, with and without runners.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/spawner/layer.h"
#include "sandbox/spawner/netns.h"
#include "sandbox/spawner/spawner.h"
#include "sandbox/wire/egress_ports.h"
#include "sandbox/wire/jail_layout.h"

namespace sandglass::sandbox {
namespace {

// Doesn't change errno.
void EndJail(const os::Fd& pidfd) {
  const int error = errno;
  os::PidfdSendSignal(pidfd, SIGKILL);
  errno = error;
}

}  // namespace

bool Spawner::IsSpareable(const internal::JailSlots& slots) const {
  return slots.image() == config_.zygote().image();
}

void Spawner::RecordLikely(const internal::JailSlots& slots) {
  // Once a request has asked for a group in the controller of disk I/O, all
  // spares get one: they can then serve every request.
  const bool with_disk = likely_slots_.has_disk() || slots.has_disk();
  if (IsSpareable(slots)) likely_slots_ = slots;
  if (with_disk) likely_slots_.mutable_disk();
}

pid_t Spawner::PopSpare(const internal::JailSlots& slots) {
  if (!IsSpareable(slots)) return -1;
  while (!spares_.empty()) {
    const pid_t init = spares_.front();
    spares_.pop_front();
    const LiveJail& jail = live_.at(init);
    // A pidfd is readable when its process is dead, even before it is reaped.
    struct pollfd fd = {jail.pidfd.get(), POLLIN, 0};
    if (::poll(&fd, 1, 0) != 0) continue;
    if (jail.cgroup.Fits(roots_, slots)) return init;
    os::PidfdSendSignal(jail.pidfd, SIGKILL);
  }
  return -1;
}

pid_t Spawner::PopRaising(const internal::JailSlots& slots) {
  if (!IsSpareable(slots)) return -1;
  const auto found = std::ranges::find_if(raising_, [&](pid_t init) {
    return live_.at(init).cgroup.Fits(roots_, slots);
  });
  if (found == raising_.end()) return -1;
  const pid_t init = *found;
  raising_.erase(found);
  return init;
}

bool Spawner::HandOut(pid_t init, const internal::CreateJail& request,
                      StepClock& clock, internal::JailCreated& reply,
                      std::vector<int>& fds) {
  LiveJail& jail = live_.at(init);
  const internal::Template& jail_template =
      *templates_.Find(request.template_name());
  internal::FillSlots filled;
  filled.set_seccomp(jail_template.seccomp());
  *filled.mutable_slots() = request.slots();
  os::Fd layer;
  std::vector<int> given;
  if (!request.layer().empty()) {
    clock.Begin(SetupStep::kOpenLayer);
    layer = OpenLayer(request.layer());
    if (!layer.valid()) {
      EndJail(jail.pidfd);
      return false;
    }
    filled.set_has_layer(true);
    given.push_back(layer.get());
  }
  clock.Begin(SetupStep::kSetLimits);
  // ORDER: init may go on while limits are still being written, because no
  // program can start in the jail before the daemon has the reply.
  if (!os::SendPacket(jail.control.get(), filled.SerializeAsString(), given,
                      os::Wait::kNo)
           .ok() ||
      !jail.cgroup.SetLimits(config_, roots_, request.slots())) {
    EndJail(jail.pidfd);
    return false;
  }
  if (jail_template.has_network()) {
    clock.Begin(SetupStep::kOpenDoors);
    if (!OpenDoors(jail_template.network(), jail)) {
      EndJail(jail.pidfd);
      return false;
    }
  }
  clock.End();
  jail.id = request.jail_id();
  last_hand_out_ns_ = os::MonotonicNanos();
  *reply.mutable_steps() = std::move(jail.steps);
  reply.add_roles(internal::FD_ROLE_INIT_PIDFD);
  fds.push_back(jail.pidfd.get());
  reply.add_roles(internal::FD_ROLE_CONTROL);
  fds.push_back(jail.control.get());
  reply.add_roles(internal::FD_ROLE_NETLINK_SOCKETS);
  fds.push_back(jail.netlink_sockets.get());
  for (size_t i = 0; i < jail.doors.size(); ++i) {
    reply.add_roles(i == 0   ? internal::FD_ROLE_EGRESS_PROXY
                    : i == 1 ? internal::FD_ROLE_EGRESS_DNS
                             : internal::FD_ROLE_EGRESS_PORT);
    fds.push_back(jail.doors[i].get());
  }
  jail.cgroup.AppendFds(reply, fds);
  return true;
}

bool Spawner::OpenDoors(const internal::NetworkRules& rules, LiveJail& jail) {
  return MakeJailDoors(jail.netns, ServedPorts(rules), home_netns_, jail.doors);
}

absl::Status Spawner::AnswerCreate(pid_t init, bool given,
                                   const internal::SpawnerEvent& event,
                                   const std::vector<int>& fds) {
  absl::Status sent = Send(event, fds);
  if (given && absl::IsResourceExhausted(sent)) {
    // This yard has more descriptors in transit than it may have open. Only
    // this jail ends for that, and no other.
    EndJail(live_.at(init).pidfd);
    live_.at(init).id = 0;
    internal::SpawnerEvent failed;
    internal::JailCreated& reply = *failed.mutable_created();
    reply.set_jail_id(event.created().jail_id());
    reply.mutable_failure()->set_error(ENFILE);
    reply.mutable_failure()->set_step(static_cast<int>(SetupStep::kCloneInit));
    sent = Send(failed, {});
  }
  // The daemon has its copies now, and the spawner only needs the name.
  if (given) {
    LiveJail& jail = live_.at(init);
    jail.cgroup.CloseAll();
    jail.pidfd.reset();
    jail.control.reset();
    jail.netlink_sockets.reset();
    jail.doors.clear();
  }
  return sent;
}

absl::Status Spawner::ServeWaiting() {
  while (!waiting_.empty()) {
    const bool serves = zygote_->Serves();
    if (!serves && zygote_->Comes()) {
      // A run would have started a fresh interpreter before the zygote is
      // ready.
      const auto hasty = std::find_if(
          waiting_.begin(), waiting_.end(),
          [](const internal::CreateJail& each) { return each.in_haste(); });
      if (hasty == waiting_.end()) return absl::OkStatus();
      std::rotate(waiting_.begin(), hasty, hasty + 1);
    }
    internal::SpawnerEvent event;
    internal::JailCreated* reply = event.mutable_created();
    reply->set_jail_id(waiting_.front().jail_id());
    std::vector<int> fds;
    StepClock clock;
    os::Fd socket;
    bool given = false;
    pid_t init = -1;
    if (!serves) {
      reply->mutable_failure()->set_error(EAGAIN);
      reply->mutable_failure()->set_step(
          static_cast<int>(SetupStep::kForkRunner));
    } else if ((init = PopSpare(waiting_.front().slots())) >= 0) {
      const internal::CreateJail request = waiting_.front();
      given = HandOut(init, request, clock, *reply, fds) &&
              OrderRunner(init, request, *reply, fds, socket);
      if (!given) {
        const int error = errno;
        os::PidfdSendSignal(live_.at(init).pidfd, SIGKILL);
        reply->Clear();
        reply->set_jail_id(request.jail_id());
        fds.clear();
        reply->mutable_failure()->set_error(error);
        reply->mutable_failure()->set_step(
            static_cast<int>(SetupStep::kForkRunner));
      }
      reply->set_made_ahead(given);
    } else if (!raising_.empty() ||
               os::MonotonicNanos() >= spare_retry_at_ns_) {
      if (raising_.empty() && spare_groups_.empty() && free_slots_.empty()) {
        reply->set_no_slot(true);
      } else {
        return absl::OkStatus();  // one is being raised, or DoChore begins it
      }
    } else {
      // The last attempt to raise one failed.
      reply->mutable_failure()->set_error(EAGAIN);
      reply->mutable_failure()->set_step(
          static_cast<int>(SetupStep::kCloneInit));
    }
    waiting_.pop_front();
    if (absl::Status sent = AnswerCreate(init, given, event, fds); !sent.ok()) {
      return sent;
    }
  }
  return absl::OkStatus();
}

bool Spawner::OrderRunner(pid_t init, const internal::CreateJail& request,
                          internal::JailCreated& reply, std::vector<int>& fds,
                          os::Fd& socket) {
  LiveJail& jail = live_.at(init);
  absl::StatusOr<std::pair<os::Fd, os::Fd>> pair = os::SeqPacketPair();
  if (!pair.ok()) return false;
  const FillOrder order = {.serial = static_cast<uint64_t>(init),
                           .filter_length = 0,
                           .landlock_abi = config_.landlock_abi(),
                           .in_haste = request.in_haste() ? 1u : 0u};
  std::vector<int> given = {jail.pidfd.get(), jail.cgroup.run().get(),
                            pair->second.get()};
  for (const int tasks : jail.cgroup.V1Tasks()) given.push_back(tasks);
  const std::string& filter =
      templates_.Find(request.template_name())->seccomp();
  if (!zygote_->Order(order, filter, given)) return false;
  socket = std::move(pair->first);
  reply.add_roles(internal::FD_ROLE_RUNNER);
  fds.push_back(socket.get());
  return true;
}

void Spawner::HandleFillReplies() {
  for (const FillReply& reply : zygote_->CollectReplies()) {
    // That a runner could not be made is noticed at its socket.
    if (reply.pid < 0) continue;
    const auto init = static_cast<pid_t>(reply.serial);
    // An init that is mistaken for a runner would never be cleaned up.
    if (live_.contains(reply.pid)) continue;
    const auto ended = early_exits_.find(reply.pid);
    if (ended != early_exits_.end()) {
      ReportExit(init, ended->second);
      early_exits_.erase(ended);
    } else {
      runners_[reply.pid] = init;
    }
  }
}

void Spawner::ReportExit(pid_t init, int wait_status) {
  const auto found = live_.find(init);
  if (found == live_.end() || !found->second.init_end.valid()) return;
  internal::InitEvent event;
  event.mutable_exited()->set_wait_status(wait_status);
  event.mutable_exited()->set_monotonic_ns(os::MonotonicNanos());
  // A daemon that has given up the jail has closed its end.
  (void)os::SendPacket(found->second.init_end.get(), event.SerializeAsString(),
                       {}, os::Wait::kNo);
}

}  // namespace sandglass::sandbox
