#include "sandbox/jailed/zygote.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sandbox/os/io.h"
#include "sandbox/os/namespaces.h"
#include "sandbox/os/process.h"

namespace sandglass::sandbox {
namespace {

// The pidfd of init, the v2 group and the socket; tasks files follow.
constexpr size_t kFewestFds = 3;

}  // namespace

bool Zygote::Prepare() {
  struct stat info = {};
  if (::fstat(kZygoteFiltersFd, &info) != 0) return false;
  const auto size = static_cast<size_t>(info.st_size);
  void* table =
      ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, kZygoteFiltersFd, 0);
  if (table == MAP_FAILED) return false;
  const char* from = static_cast<const char*>(table);
  const char* end = from + size;
  const auto number = [&](uint32_t& value) {
    if (static_cast<size_t>(end - from) < sizeof(value)) return false;
    std::memcpy(&value, from, sizeof(value));
    from += sizeof(value);
    return true;
  };
  errno = EPROTO;
  uint32_t count = 0;
  if (!number(count)) return false;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t length = 0;
    if (!number(length) ||
        static_cast<size_t>(end - from) / sizeof(sock_filter) < length) {
      return false;
    }
    filters_.emplace_back(reinterpret_cast<const sock_filter*>(from), length);
    from += length * sizeof(sock_filter);
  }
  // Runners would show the zygote's arguments. Where the kernel can't change
  // that, nothing is lost but looks.
  const absl::Span<char> title = MakeTitle();
  ShowTitle({"sandglass-zygote"});
  if (!title.empty()) os::UseTitle(title.data(), title.size());
  home_ = os::PidfdOpen(::getpid());
  if (!home_.valid()) return false;
  Reply(0, 0);  // an order has another serial: ready for the first
  return true;
}

bool Zygote::Next() {
  order_ = Order();
  return os::ReceiveDatagram(
             kZygoteChannelFd, reinterpret_cast<char*>(&order_.header),
             sizeof(order_.header), order_.fds) == sizeof(order_.header) &&
         order_.fds.size() >= kFewestFds &&
         order_.header.template_index < filters_.size();
}

std::optional<Runner> Zygote::Fork() {
  StepClock clock;
  clock.Begin(SetupStep::kForkRunner);
  const os::Fd& init = order_.fds[0];
  if (!os::JoinNamespaces(init, os::kNewPid)) {
    Reply(-1, errno);
    return std::nullopt;
  }
  // The spawner, as the parent, reaps the runner: a zygote that had to would
  // hold up the end of every jail.
  const pid_t pid = os::Clone3({.flags = os::kSibling,
                                .cgroup_fd = order_.fds[1].get(),
                                .exit_signal = 0,
                                .thread_id = os::ThreadIdCache()});
  if (pid == 0) {
    clock.End();
    // Who looks for zygotes is to find no runners.
    ShowTitle({"sandglass-idle"});
    Runner::Jail jail;
    jail.init_pidfd = std::move(order_.fds[0]);
    jail.socket = std::move(order_.fds[2]);
    for (size_t i = kFewestFds; i < order_.fds.size(); ++i) {
      jail.v1_tasks.push_back(std::move(order_.fds[i]));
    }
    jail.filter = filters_[order_.header.template_index];
    jail.landlock_abi = order_.header.landlock_abi;
    jail.in_haste = order_.header.in_haste != 0;
    return Runner(std::move(jail), clock);
  }
  const int error = errno;
  // Left in a jail's, every later runner would be born there.
  if (!os::JoinNamespaces(home_, os::kNewPid)) ::_exit(1);
  Reply(pid, pid < 0 ? error : 0);
  order_ = Order();
  return std::nullopt;
}

void Zygote::Reply(pid_t pid, int error) const {
  const FillReply reply = {order_.header.serial, pid, error};
  (void)os::SendDatagram(kZygoteChannelFd,
                         {reinterpret_cast<const char*>(&reply), sizeof(reply)},
                         {});
}

}  // namespace sandglass::sandbox
