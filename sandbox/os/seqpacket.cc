#include "sandbox/os/seqpacket.h"

#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "sandbox/os/io.h"
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
  if (SendDatagram(socket, data, fds, wait == Wait::kNo ? MSG_DONTWAIT : 0)) {
    return absl::OkStatus();
  }
  if (errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN) {
    return absl::UnavailableError("the other end of the channel is closed");
  }
  if (errno == EAGAIN) {
    return absl::ResourceExhaustedError("the channel's queue is full");
  }
  return ErrnoStatus("sendmsg of ", data.size(), " bytes");
}

absl::StatusOr<Packet> ReceivePacket(int socket, Wait wait,
                                     std::vector<Fd>* refused) {
  // Zero-filling 256 KiB for each packet would cost more than the packet.
  thread_local const auto buffer =
      std::make_unique_for_overwrite<char[]>(kMaxPacketBytes);
  Packet packet;
  const ssize_t size =
      ReceiveDatagram(socket, buffer.get(), kMaxPacketBytes, packet.fds,
                      wait == Wait::kNo ? MSG_DONTWAIT : 0);
  if (size <= 0 && refused != nullptr) *refused = std::move(packet.fds);
  if (size < 0) {
    if (errno == EAGAIN) return absl::NotFoundError("no packet waits");
    if (errno == ECONNRESET) {
      return absl::OutOfRangeError("the other end of the channel is closed");
    }
    if (errno == EMSGSIZE) {
      return absl::InvalidArgumentError("a packet was larger than allowed");
    }
    return ErrnoStatus("recvmsg");
  }
  if (size == 0) {
    return absl::OutOfRangeError("the other end of the channel is closed");
  }
  packet.data.assign(buffer.get(), static_cast<size_t>(size));
  return packet;
}

}  // namespace sandglass::os
