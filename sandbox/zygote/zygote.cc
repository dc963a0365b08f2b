#include "sandbox/zygote/zygote.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sandbox/os/io.h"
#include "sandbox/os/namespaces.h"
#include "sandbox/os/process.h"
#include "sandbox/wire/step_clock.h"

namespace sandglass::sandbox {
namespace {

// The pidfd of init, the v2 group and the socket; the tasks files follow.
constexpr size_t kFewestFds = 3;
// A way back that is not there for so long will not come.
constexpr int kMaxTries = 2000;

}  // namespace

bool Zygote::Prepare() {
  // Runners would otherwise show the zygote's arguments. Where the kernel can't
  // change that, only the display suffers.
  const absl::Span<char> title = MakeTitle();
  ShowTitle({"sandglass-zygote"});
  if (!title.empty()) os::UseTitle(title.data(), title.size());
  home_ = os::PidfdOpen(::getpid());
  if (!home_.valid()) return false;
  Reply(0, 0);  // no order has serial 0: ready for the first
  return true;
}

bool Zygote::Next() {
  static_assert(sizeof(Order) == sizeof(order_.header) + sizeof(order_.filter));
  while (true) {
    order_.header = FillOrder();
    order_fds_.clear();
    bool lost = false;
    const ssize_t size =
        os::ReceiveDatagram(kZygoteChannelFd, reinterpret_cast<char*>(&order_),
                            sizeof(order_), order_fds_, 0, &lost);
    if (size < 0 && os::IsShortage(errno)) {
      ::usleep(os::kShortagePauseMicros);
      continue;
    }
    if (size < static_cast<ssize_t>(sizeof(order_.header))) return false;
    if (lost) {
      // This one runner can't be made. Its jail notices that at the socket,
      // whose other end is closed.
      Reply(-1, EMFILE);
      continue;
    }
    return order_fds_.size() >= kFewestFds && order_.header.filter_length > 0 &&
           order_.header.filter_length <= order_.filter.size() &&
           static_cast<size_t>(size) ==
               sizeof(order_.header) +
                   order_.header.filter_length * sizeof(sock_filter);
  }
}

std::optional<Runner> Zygote::Fork() {
  StepClock clock;
  clock.Begin(SetupStep::kForkRunner);
  const os::Fd& init = order_fds_[0];
  if (!os::JoinNamespaces(init, os::kNewPid)) {
    Reply(-1, errno);
    order_fds_.clear();
    return std::nullopt;
  }
  // The spawner becomes the runner's parent and reaps it: if the zygote had to,
  // it would hold up the end of every jail.
  const pid_t pid = os::Clone3({.flags = os::kSibling,
                                .cgroup_fd = order_fds_[1].get(),
                                .exit_signal = 0,
                                .thread_id = os::ThreadIdCache()});
  if (pid == 0) {
    clock.End();
    // So that a person who looks for zygotes doesn't find runners.
    ShowTitle({"sandglass-idle"});
    Runner::Jail jail;
    jail.init_pidfd = std::move(order_fds_[0]);
    jail.socket = std::move(order_fds_[2]);
    for (size_t i = kFewestFds; i < order_fds_.size(); ++i) {
      jail.v1_tasks.push_back(std::move(order_fds_[i]));
    }
    jail.filter = {order_.filter.data(), order_.header.filter_length};
    jail.landlock_abi = order_.header.landlock_abi;
    jail.in_haste = order_.header.in_haste != 0;
    return Runner(std::move(jail), clock);
  }
  const int error = errno;
  // If the zygote stayed in a jail's pid namespace, every later runner would
  // start there.
  for (int tries = 0; !os::JoinNamespaces(home_, os::kNewPid); ++tries) {
    if (!os::IsShortage(errno) || tries >= kMaxTries) ::_exit(1);
    ::usleep(os::kShortagePauseMicros);
  }
  Reply(pid, pid < 0 ? error : 0);
  order_fds_.clear();
  return std::nullopt;
}

void Zygote::Reply(pid_t pid, int error) const {
  const FillReply reply = {order_.header.serial, pid, error};
  // Sent patiently: without an answer to each order, the spawner would think
  // that the zygote hangs.
  for (int tries = 0;
       !os::SendDatagram(kZygoteChannelFd,
                         {reinterpret_cast<const char*>(&reply), sizeof(reply)},
                         {}) &&
       os::IsShortage(errno) && tries < kMaxTries;
       ++tries) {
    ::usleep(os::kShortagePauseMicros);
  }
}

}  // namespace sandglass::sandbox
