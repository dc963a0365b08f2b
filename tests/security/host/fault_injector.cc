#include "tests/security/host/fault_injector.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

#include "policy/architecture/architecture.h"

namespace sandglass::testing {
namespace {

// Since Linux 5.19: a signal doesn't have the call asked for a second time.
constexpr unsigned kWaitKillable = 1U << 5;

os::Fd Listen(const std::vector<int>& calls) {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, policy::kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const int call : calls) {
    program.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter = {static_cast<unsigned short>(program.size()),
                             program.data()};
  for (const unsigned more : {kWaitKillable, 0U}) {
    const long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                            SECCOMP_FILTER_FLAG_NEW_LISTENER | more, &filter);
    if (fd >= 0 || errno != EINVAL) return os::Fd(static_cast<int>(fd));
  }
  return os::Fd();
}

}  // namespace

FaultInjector::FaultInjector(const std::vector<int>& calls)
    : stop_(eventfd(0, EFD_CLOEXEC)) {
  // ORDER: the thread that answers is there before anybody is asked, and isn't
  // asked itself.
  thread_ = std::thread([this] {
    listening_.wait(false);
    if (ok()) Serve();
  });
  listener_ = Listen(calls);
  listening_ = true;
  listening_.notify_one();
}

FaultInjector::~FaultInjector() {
  const uint64_t one = 1;
  (void)!write(stop_.get(), &one, sizeof(one));
  thread_.join();
}

void FaultInjector::Arm(int call, int error, int nth, Matches matches) {
  const absl::MutexLock lock(&mutex_);
  error_ = error;
  nth_ = nth;
  seen_ = 0;
  matches_ = std::move(matches);
  armed_call_ = call;
}

int FaultInjector::Disarm() {
  const absl::MutexLock lock(&mutex_);
  armed_call_ = kNone;
  return seen_;
}

int FaultInjector::ErrorFor(int call, pid_t thread) {
  if (call != armed_call_) return 0;
  const absl::MutexLock lock(&mutex_);
  if (call != armed_call_ || !matches_(thread)) return 0;
  ++seen_;
  return nth_ == kEach || seen_ == nth_ ? error_ : 0;
}

void FaultInjector::Serve() {
  while (true) {
    pollfd fds[] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) return;
    if (fds[1].revents != 0) return;
    if ((fds[0].revents & POLLIN) == 0) {
      if ((fds[0].revents & POLLHUP) == 0) continue;
      // Nobody is left whom it could ask.
      fds[0].fd = -1;
      poll(fds + 1, 1, -1);
      return;
    }
    seccomp_notif asked = {};
    if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) continue;
    seccomp_notif_resp answer = {};
    answer.id = asked.id;
    // Of all that fcntl(2) does, this is what can run out.
    const bool takes = asked.data.nr != SYS_fcntl ||
                       asked.data.args[1] == F_DUPFD ||
                       asked.data.args[1] == F_DUPFD_CLOEXEC;
    const int error =
        takes ? ErrorFor(asked.data.nr, static_cast<pid_t>(asked.pid)) : 0;
    if (error != 0) {
      answer.error = -error;
    } else {
      answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    }
    (void)ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
  }
}

}  // namespace sandglass::testing
