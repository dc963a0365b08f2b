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
  // True when this process or the host had no room for some of the descriptors.
  // Such a packet has none at all, while its sender believes that all arrived,
  // so whatever they stood for has to be ended. The channel itself can still be
  // used.
  bool lost_fds = false;
};

inline constexpr size_t kMaxPacketBytes = 256 * 1024;

// Makes a connected pair of SOCK_SEQPACKET sockets, close-on-exec, with buffers
// large enough for a packet of kMaxPacketBytes.
absl::StatusOr<std::pair<Fd, Fd>> SeqPacketPair();

enum class Wait { kNo, kYes };

// Sends one packet. UNAVAILABLE: the peer is gone. INVALID_ARGUMENT: the packet
// is too large. RESOURCE_EXHAUSTED: nothing was sent, and the channel can still
// be used; either the queue is full (with Wait::kNo only), the kernel has no
// memory, or too many descriptors of this user are in transit. With Wait::kYes
// the call is repeated for up to two seconds before it fails so.
absl::Status SendPacket(int socket, absl::string_view data,
                        absl::Span<const int> fds, Wait wait);

// Receives one packet. OUT_OF_RANGE: the peer closed its end. NOT_FOUND, with
// Wait::kNo only: there is no packet, or the kernel lacks the memory to deliver
// it and it stays in the queue. INVALID_ARGUMENT: the packet was too large or
// was cut off; the channel can't be trusted any more. Descriptors are
// close-on-exec. Those of a packet that isn't returned, or that has lost some
// of its descriptors, go to `refused` unless that is null.
absl::StatusOr<Packet> ReceivePacket(int socket, Wait wait,
                                     std::vector<Fd>* refused = nullptr);

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_SEQPACKET_H_
