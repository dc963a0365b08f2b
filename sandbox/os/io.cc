#include "sandbox/os/io.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sandglass::os {
namespace {

// Linux's SCM_MAX_FD. Descriptors that don't fit into the buffer are closed by
// the kernel within recvmsg(2), and closing one can take as long as its sender
// likes (SO_LINGER).
constexpr size_t kMaxFdsOfAnyPacket = 253;

}  // namespace

bool WriteAll(int fd, absl::string_view data) {
  while (!data.empty()) {
    const ssize_t size = ::write(fd, data.data(), data.size());
    if (size < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    data.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

size_t WaitingBytes(int pipe) {
  int count = 0;
  return ::ioctl(pipe, FIONREAD, &count) == 0 && count > 0
             ? static_cast<size_t>(count)
             : 0;
}

ssize_t ReadNow(int pipe, char* data, size_t size) {
  const struct iovec part = {data, size};
  const ssize_t got = ::preadv2(pipe, &part, 1, -1, RWF_NOWAIT);
  return got < 0 && errno == EOPNOTSUPP ? ::read(pipe, data, size) : got;
}

ssize_t WriteNow(int pipe, const char* data, size_t size) {
  const struct iovec part = {const_cast<char*>(data), size};
  const ssize_t put = ::pwritev2(pipe, &part, 1, -1, RWF_NOWAIT);
  return put < 0 && errno == EOPNOTSUPP ? ::write(pipe, data, size) : put;
}

bool SendDatagram(int socket, absl::string_view data, absl::Span<const int> fds,
                  int flags) {
  if (fds.size() > kMaxPacketFds) {
    errno = EMSGSIZE;
    return false;
  }
  struct iovec part = {const_cast<char*>(data.data()), data.size()};
  alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxPacketFds)];
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    std::memset(control, 0, sizeof(control));
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fds.size());
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * fds.size());
    std::memcpy(CMSG_DATA(header), fds.data(), sizeof(int) * fds.size());
  }
  ssize_t sent;
  do {
    sent = ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

bool IsShortage(int error) {
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
    case ENOSPC:
    case EAGAIN:
      return true;
    default:
      return false;
  }
}

ssize_t ReceiveDatagram(int socket, char* data, size_t size,
                        std::vector<Fd>& fds, int flags, bool* lost) {
  if (lost != nullptr) *lost = false;
  struct iovec part = {data, size};
  alignas(struct cmsghdr) char
      control[CMSG_SPACE(sizeof(int) * kMaxFdsOfAnyPacket)];
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got;
  do {
    got = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return got;
  for (struct cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
  // ORDER: the descriptors get owners before any return, so that none leaks.
  if ((message.msg_flags & MSG_TRUNC) != 0 || fds.size() > kMaxPacketFds) {
    errno = EMSGSIZE;
    return -1;
  }
  // The buffer has room for as many descriptors as any packet can have, so it
  // wasn't the buffer that was too small.
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    if (lost == nullptr) {
      errno = EMFILE;
      return -1;
    }
    *lost = true;
  }
  return got;
}

}  // namespace sandglass::os
