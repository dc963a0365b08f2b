#include "sandbox/os/seqpacket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sandbox/os/status.h"

namespace sandglass::os {

absl::StatusOr<std::pair<Fd, Fd>> SeqPacketPair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus("socketpair(SOCK_SEQPACKET)");
  }
  std::pair<Fd, Fd> pair{Fd(ends[0]), Fd(ends[1])};
  // A unix socket refuses a packet larger than its send buffer (EMSGSIZE);
  // the kernel doubles the value and caps it at net.core.wmem_max, whose
  // default already holds half of kMaxPacketBytes twice over.
  const int size = static_cast<int>(kMaxPacketBytes);
  for (int end : ends) {
    ::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
  }
  return pair;
}

absl::Status SendPacket(int socket, absl::string_view data,
                        absl::Span<const int> fds, Wait wait) {
  if (data.empty() || data.size() > kMaxPacketBytes ||
      fds.size() > kMaxPacketFds) {
    return absl::InvalidArgumentError(
        absl::StrCat("a packet of ", data.size(), " bytes and ", fds.size(),
                     " descriptors can't be sent"));
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
  for (;;) {
    if (::sendmsg(socket, &message,
                  MSG_NOSIGNAL | (wait == Wait::kNo ? MSG_DONTWAIT : 0)) >= 0) {
      return absl::OkStatus();
    }
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) {
      return absl::UnavailableError("the other end of the channel is closed");
    }
    if (errno == EAGAIN) {
      return absl::ResourceExhaustedError("the channel's queue is full");
    }
    return ErrnoStatus("sendmsg of ", data.size(), " bytes");
  }
}

absl::StatusOr<Packet> ReceivePacket(int socket, Wait wait) {
  // Zero-filling 256 KiB for each packet would cost more than the packet.
  static thread_local char* const buffer = new char[kMaxPacketBytes];
  struct iovec part = {buffer, kMaxPacketBytes};
  alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxPacketFds)];
  struct msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t size;
  do {
    size = ::recvmsg(socket, &message,
                     MSG_CMSG_CLOEXEC | (wait == Wait::kNo ? MSG_DONTWAIT : 0));
  } while (size < 0 && errno == EINTR);
  if (size < 0) {
    if (errno == EAGAIN) return absl::NotFoundError("no packet waits");
    if (errno == ECONNRESET) {
      return absl::OutOfRangeError("the other end of the channel is closed");
    }
    return ErrnoStatus("recvmsg");
  }
  Packet packet;
  for (struct cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      packet.fds.emplace_back(fd);
    }
  }
  // ORDER: descriptors are owned before any return, so none leaks.
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    return absl::InvalidArgumentError("a packet was larger than allowed");
  }
  if (size == 0) {
    return absl::OutOfRangeError("the other end of the channel is closed");
  }
  packet.data.assign(buffer, static_cast<size_t>(size));
  return packet;
}

}  // namespace sandglass::os
