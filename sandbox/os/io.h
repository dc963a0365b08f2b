#ifndef SANDGLASS_SANDBOX_OS_IO_H_
#define SANDGLASS_SANDBOX_OS_IO_H_

#include <sys/types.h>

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "sandbox/os/fd.h"

namespace sandglass::os {

// Reads and writes that handle partial results. They use no status library,
// because this code is also loaded into interpreters.

inline constexpr size_t kMaxPacketFds = 32;

// How much of a file is read, copied or compared at once.
inline constexpr size_t kFileChunkBytes = 256 * 1024;

// Writes all of `data` at the current offset. False with errno.
bool WriteAll(int fd, absl::string_view data);

// The number of bytes that can be read from a pipe now; 0 when `pipe` isn't a
// pipe.
size_t WaitingBytes(int pipe);

// read(2) and write(2) on a pipe that never block but fail with EAGAIN, even
// when another process that shares this end of the pipe clears O_NONBLOCK on
// it. Before Linux 6.4 they rely on that flag alone.
ssize_t ReadNow(int pipe, char* data, size_t size);
ssize_t WriteNow(int pipe, const char* data, size_t size);

// Sends one datagram with at most kMaxPacketFds descriptors. `flags` are those
// of sendmsg(2); a closed peer gives EPIPE, never SIGPIPE. Returns false and
// sets errno on failure.
bool SendDatagram(int socket, absl::string_view data, absl::Span<const int> fds,
                  int flags = 0);

// Receives one datagram of at most `size` bytes and appends its descriptors,
// set close-on-exec, to `fds`. `flags` are those of recvmsg(2). Returns the
// number of bytes, 0 when the peer is gone, or -1 with errno set on failure.
// EMSGSIZE means that bytes were cut off or that there were more descriptors
// than kMaxPacketFds.
// When this process or the host has no room for some of the descriptors, the
// kernel closes those and delivers the rest: `*lost` is then true, and the
// bytes are as they were sent. Without `lost` that is a failure with EMFILE;
// the datagram has been removed from the queue all the same.
ssize_t ReceiveDatagram(int socket, char* data, size_t size,
                        std::vector<Fd>& fds, int flags = 0,
                        bool* lost = nullptr);

// True for an errno which says that the host or this process lacks some
// resource at the moment, so that the same call may succeed a little later.
bool IsShortage(int error);
// How long to wait before the same call.
inline constexpr useconds_t kShortagePauseMicros = 1000;

}  // namespace sandglass::os

#endif  // SANDGLASS_SANDBOX_OS_IO_H_
