#include "sandbox/os/asked_calls.h"

#include <linux/seccomp.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>

namespace sandglass::os {

bool ReceiveCall(const Fd& listener, AskedCall& call) {
  struct seccomp_notif question = {};  // the kernel requires zeros
  if (::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) {
    return false;
  }
  call.id = question.id;
  call.architecture = question.data.arch;
  call.number = question.data.nr;
  std::copy(std::begin(question.data.args), std::end(question.data.args),
            call.arguments);
  return true;
}

bool RefuseCall(const Fd& listener, const AskedCall& call, int error) {
  struct seccomp_notif_resp answer = {};
  answer.id = call.id;
  answer.error = -error;
  return ::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0;
}

bool AllowCall(const Fd& listener, const AskedCall& call) {
  struct seccomp_notif_resp answer = {};
  answer.id = call.id;
  answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  int sent = 0;
  do {
    sent = ::ioctl(listener.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
  } while (sent != 0 && errno == EINTR);
  return sent == 0;
}

bool IsListener(const Fd& fd) {
  // No question has this number; anything else doesn't know the request.
  uint64_t none = 0;
  return ::ioctl(fd.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &none) != 0 &&
         errno == ENOENT;
}

}  // namespace sandglass::os
