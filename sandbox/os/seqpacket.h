#ifndef SANDGLASS_SANDBOX_OS_SEQPACKET_H_
#define SANDGLASS_SANDBOX_OS_SEQPACKET_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/io.h"

namespace sandglass::os {

// One datagram: bytes and the descriptors that came with them.
struct Packet {
  std::string data;
  std::vector<Fd> fds;
  // There were descriptors for which this process, or the host, has no room. Of
  // such a packet none is given, and who sent them believes that all arrived:
  // what they stood for has to be ended. The channel is as good as before.
  bool lost_fds = false;
};

inline constexpr size_t kMaxPacketBytes = 256 * 1024;

// A connected pair of SOCK_SEQPACKET sockets, close-on-exec, with room for a
// packet of kMaxPacketBytes.
absl::StatusOr<std::pair<Fd, Fd>> SeqPacketPair();

enum class Wait { kNo, kYes };

// Sends one packet. UNAVAILABLE when the peer is gone, INVALID_ARGUMENT when
// too large. RESOURCE_EXHAUSTED: nothing was sent, and the channel is as good
// as before; the queue is full (Wait::kNo only), the kernel has no memory, or
// too many descriptors of this user are on their way. With Wait::kYes that is
// tried for two seconds.
absl::Status SendPacket(int socket, absl::string_view data,
                        absl::Span<const int> fds, Wait wait);

// Takes one packet. OUT_OF_RANGE: the peer closed its end. NOT_FOUND, with
// Wait::kNo only: there is none, or the kernel is too short of memory to give
// it and it stays. INVALID_ARGUMENT: too large or cut; the channel can't be
// trusted further. Descriptors are close-on-exec; those of a packet that isn't
// given, or that has lost some, go to `refused`, when there is one.
absl::StatusOr<Packet> ReceivePacket(int socket, Wait wait,
                                     std::vector<Fd>* refused = nullptr);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_SEQPACKET_H_
