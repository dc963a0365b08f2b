#ifndef SANDGLASS_SANDBOX_OS_IO_H_
#define SANDGLASS_SANDBOX_OS_IO_H_

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sandbox/os/fd.h"

namespace sandglass::os {

// Reading and writing whole, without a status library: also for code that an
// interpreter loads.

inline constexpr size_t kMaxPacketFds = 32;

// How much of a file is read, copied or compared at once.
inline constexpr size_t kFileChunkBytes = 256 * 1024;

// Writes all of `data` at the current offset. False with errno.
bool WriteAll(int fd, absl::string_view data);

// Bytes that can be read from a pipe now; 0 when `pipe` is none.
size_t WaitingBytes(int pipe);

// read(2) and write(2) of a pipe that never wait, EAGAIN then, even when who
// shares the pipe's end takes O_NONBLOCK off it. Before Linux 6.4 the flag
// alone has to do.
ssize_t ReadNow(int pipe, char* data, size_t size);
ssize_t WriteNow(int pipe, const char* data, size_t size);

// Sends one datagram with at most kMaxPacketFds descriptors. `flags` as for
// sendmsg(2); a closed peer is EPIPE, never SIGPIPE. False with errno.
bool SendDatagram(int socket, absl::string_view data, absl::Span<const int> fds,
                  int flags = 0);

// Takes one datagram of at most `size` bytes; its descriptors, close-on-exec,
// are appended to `fds`. `flags` as for recvmsg(2). The number of bytes, 0 when
// the peer is gone, -1 with errno on failure; EMSGSIZE: bytes
// were cut off, or there were more descriptors than kMaxPacketFds.
// When this process, or the host, has no room for some of the descriptors, the
// kernel closes those and delivers the rest: `*lost` is then true and the bytes
// are as they were sent. Without `lost` that is a failure, EMFILE; the datagram
// is taken all the same.
ssize_t ReceiveDatagram(int socket, char* data, size_t size,
                        std::vector<Fd>& fds, int flags = 0,
                        bool* lost = nullptr);

// True for an errno that says that the host or this process is short of
// something just now, so that the same call may work a moment later.
bool IsShortage(int error);
// How long to wait before the same call.
inline constexpr useconds_t kShortagePauseMicros = 1000;

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_IO_H_
