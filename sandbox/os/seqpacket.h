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
};

inline constexpr size_t kMaxPacketBytes = 256 * 1024;

// A connected pair of SOCK_SEQPACKET sockets, close-on-exec, with room for a
// packet of kMaxPacketBytes.
absl::StatusOr<std::pair<Fd, Fd>> SeqPacketPair();

enum class Wait { kNo, kYes };

// Sends one packet. UNAVAILABLE when the peer is gone, RESOURCE_EXHAUSTED when
// the queue is full (Wait::kNo only), INVALID_ARGUMENT when too large.
absl::Status SendPacket(int socket, absl::string_view data,
                        absl::Span<const int> fds, Wait wait);

// Takes one packet. OUT_OF_RANGE: the peer closed its end. NOT_FOUND: nothing
// there (Wait::kNo only). INVALID_ARGUMENT: too large or cut; the channel can't
// be trusted further. Descriptors are close-on-exec; those of a packet that
// isn't given go to `refused`, when there is one.
absl::StatusOr<Packet> ReceivePacket(int socket, Wait wait,
                                     std::vector<Fd>* refused = nullptr);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_SEQPACKET_H_
