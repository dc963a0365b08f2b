#include "sandbox/os/seqpacket.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "sandbox/os/io.h"
#include "sandbox/os/status.h"

namespace sandglass::os {
namespace {

// The pause between tries of a call for which the kernel lacked resources, and
// the number of tries.
constexpr int kPauseMillis = 1;
constexpr int kMaxTries = 2000;

void Pause() { ::poll(nullptr, 0, kPauseMillis); }

// True for shortages that pass. ETOOMANYREFS: this user has more descriptors in
// transit than it may have open; their receivers will take them soon.
bool MayGoLater(int error) {
  return IsShortage(error) || error == ETOOMANYREFS;
}

}  // namespace

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
  const int flags = wait == Wait::kNo ? MSG_DONTWAIT : 0;
  for (int tries = 1; !SendDatagram(socket, data, fds, flags); ++tries) {
    const int error = errno;
    if (error == EPIPE || error == ECONNRESET || error == ENOTCONN) {
      return absl::UnavailableError("the other end of the channel is closed");
    }
    if (!MayGoLater(error)) {
      return ErrnoStatus("sendmsg of ", data.size(), " bytes");
    }
    if (wait == Wait::kYes && tries < kMaxTries) {
      Pause();
      continue;
    }
    return absl::ResourceExhaustedError(
        error == EAGAIN ? "the channel's queue is full"
                        : absl::StrCat("sendmsg of ", data.size(),
                                       " bytes: ", ErrorText(error)));
  }
  return absl::OkStatus();
}

absl::StatusOr<Packet> ReceivePacket(int socket, Wait wait,
                                     std::vector<Fd>* refused) {
  // Zero-filling 256 KiB for each packet would cost more than the packet.
  thread_local const auto buffer =
      std::make_unique_for_overwrite<char[]>(kMaxPacketBytes);
  Packet packet;
  const int flags = wait == Wait::kNo ? MSG_DONTWAIT : 0;
  const auto receive = [&] {
    return ReceiveDatagram(socket, buffer.get(), kMaxPacketBytes, packet.fds,
                           flags, &packet.lost_fds);
  };
  ssize_t size = receive();
  while (size < 0 && IsShortage(errno)) {
    if (errno == EAGAIN && wait == Wait::kNo) {
      return absl::NotFoundError("no packet waits");
    }
    // The packet was not taken from the queue yet.
    Pause();
    if (wait == Wait::kNo) {
      return absl::NotFoundError("the kernel can't give a packet just now");
    }
    size = receive();
  }
  if (size <= 0 || packet.lost_fds) {
    const int error = errno;
    if (refused != nullptr) *refused = std::move(packet.fds);
    packet.fds.clear();
    errno = error;
  }
  if (size < 0) {
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
