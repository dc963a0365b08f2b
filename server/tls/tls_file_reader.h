#ifndef SANDGLASS_SERVER_TLS_TLS_FILE_READER_H_
#define SANDGLASS_SERVER_TLS_TLS_FILE_READER_H_

#include <sys/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "server/tls/tls_context.h"

namespace sandglass::server {

// A process that opens the files of a TlsConfig again on request, since a key
// is usually for root alone and the server isn't root any more. It takes no
// other orders, so that somebody who takes over the server gets no other file.
// The process has no right but to read, and it ends with the server.
class TlsFileReader {
 public:
  // Forks the process. Preconditions: root, single-threaded.
  static absl::StatusOr<std::unique_ptr<TlsFileReader>> Start(
      const TlsConfig& config, uid_t uid, gid_t gid);

  // What the files say now. INVALID_ARGUMENT as ReadTlsFiles. UNAVAILABLE: the
  // process is gone or hangs, perhaps on a disk, and every later call says so,
  // too. Only one thread at a time may call it.
  absl::StatusOr<TlsFiles> Read(absl::Duration timeout);

  // Ends the process. If it hangs, it ends together with this process.
  ~TlsFileReader();
  TlsFileReader(const TlsFileReader&) = delete;
  TlsFileReader& operator=(const TlsFileReader&) = delete;

 private:
  TlsFileReader(const TlsConfig& config, os::Fd channel, os::Fd pidfd,
                pid_t pid)
      : config_(config),
        channel_(std::move(channel)),
        pidfd_(std::move(pidfd)),
        pid_(pid) {}

  const TlsConfig config_;
  os::Fd channel_;  // SOCK_SEQPACKET; invalid once the process is gone
  os::Fd pidfd_;
  pid_t pid_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_TLS_TLS_FILE_READER_H_
