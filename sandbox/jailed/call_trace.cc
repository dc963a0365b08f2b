#include "sandbox/jailed/call_trace.h"

#include <linux/seccomp.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/refused_calls.h"

namespace sandglass::sandbox {
namespace {

// The most questions of one process that are answered before init looks at
// everything else.
constexpr int kMaxAnswersAtOnce = 64;
constexpr size_t kArguments = 3;

// Addresses differ from run to run and say nothing. An int is below 2^32 or, if
// it is negative, near the top of the range when passed as a long.
uint64_t Shown(uint64_t argument) {
  constexpr uint64_t kMinErrorResult = ~uint64_t{0} - 0x7fffffff;
  return argument < kAddressArgument || argument >= kMinErrorResult
             ? argument
             : kAddressArgument;
}

}  // namespace

CallTrace::CallTrace(absl::Span<const sock_filter> filter)
    : filter_(filter.begin(), filter.end()),
      asking_(policy::AskInsteadOfRefusing(filter_)) {}

pid_t CallTrace::StartProcess(const JailPlan& plan,
                              const os::Fd& landlock_ruleset,
                              ProcessStart start, StartReport& report) {
  absl::StatusOr<std::pair<os::Fd, os::Fd>> ends = os::SeqPacketPair();
  report.clock.Begin(SetupStep::kSeccomp);
  if (!ends.ok()) {
    report.error = EMFILE;
    return -1;
  }
  start.listener_to = ends->second.get();
  const pid_t pid =
      sandbox::StartProcess(plan, landlock_ruleset, asking_, start, report);
  if (pid < 0) return -1;
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(ends->first.get(), os::Wait::kNo);
  if (!packet.ok() || packet->fds.size() != 1) {
    // Without a listener it would wait for ever at its first refused call.
    (void)::kill(pid, SIGKILL);
    report.error = packet.ok() && packet->lost_fds ? EMFILE : EPROTO;
    return -1;
  }
  traced_.push_back({pid, std::move(packet->fds[0]), {}});
  return pid;
}

void CallTrace::AddPolls(std::vector<struct pollfd>& polls) const {
  for (const Traced& traced : traced_) {
    polls.push_back({traced.listener.get(), POLLIN, 0});
  }
}

void CallTrace::Serve(absl::Span<const struct pollfd> polls) {
  auto traced = traced_.begin();
  for (const struct pollfd& polled : polls) {
    if (traced == traced_.end()) return;
    struct pollfd now = polled;
    for (int i = 0; i < kMaxAnswersAtOnce && (now.revents & POLLIN) != 0; ++i) {
      os::AskedCall call;
      if (os::ReceiveCall(traced->listener, call)) {
        const int error = ErrorOf(call);
        // Counted even if the calling process is dead by now: the call was
        // refused.
        (void)os::RefuseCall(traced->listener, call, error);
        Count(call, error, traced->calls);
      } else if (errno != ENOENT && errno != EINTR) {
        break;
      }
      if (::poll(&now, 1, 0) < 0) break;
    }
    if ((now.revents & POLLIN) == 0 && (now.revents & POLLHUP) != 0) {
      traced->listener.reset();
    }
    if (!traced->listener.valid() && traced->pid < 0) {
      traced = traced_.erase(traced);
    } else {
      ++traced;
    }
  }
}

internal::RefusedCalls CallTrace::Collect(pid_t pid) {
  const auto found =
      std::find_if(traced_.begin(), traced_.end(),
                   [pid](const Traced& traced) { return traced.pid == pid; });
  internal::RefusedCalls calls;
  if (found == traced_.end()) return calls;
  calls = std::move(found->calls);
  found->calls.Clear();
  found->pid = -1;
  if (!found->listener.valid()) traced_.erase(found);
  return calls;
}

int CallTrace::ErrorOf(const os::AskedCall& call) const {
  const absl::StatusOr<uint32_t> answer = policy::EvaluateFilter(
      filter_, call.architecture, call.number, call.arguments);
  if (answer.ok() && (*answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO &&
      (*answer & SECCOMP_RET_DATA) != 0) {
    return static_cast<int>(*answer & SECCOMP_RET_DATA);
  }
  return EPERM;
}

void CallTrace::Count(const os::AskedCall& call, int error,
                      internal::RefusedCalls& calls) {
  uint64_t shown[kArguments];
  for (size_t i = 0; i < kArguments; ++i) shown[i] = Shown(call.arguments[i]);
  for (internal::RefusedCall& known : *calls.mutable_calls()) {
    if (known.architecture() == call.architecture &&
        known.number() == call.number && known.error() == error &&
        std::equal(std::begin(shown), std::end(shown),
                   known.arguments().begin())) {
      known.set_count(known.count() + 1);
      return;
    }
  }
  if (calls.calls_size() >= static_cast<int>(kMaxRefusedCalls)) {
    calls.set_others(calls.others() + 1);
    return;
  }
  internal::RefusedCall& added = *calls.add_calls();
  added.set_architecture(call.architecture);
  added.set_number(call.number);
  added.set_error(error);
  for (const uint64_t argument : shown) added.add_arguments(argument);
  added.set_count(1);
}

}  // namespace sandglass::sandbox
