#ifndef SANDGLASS_SERVER_LIBRARIES_UNPACK_HELPER_H_
#define SANDGLASS_SERVER_LIBRARIES_UNPACK_HELPER_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"
#include "server/base/cancel_token.h"
#include "server/layers/layer_tree.h"

namespace sandglass::server {

// How much one archive may take while it is unpacked.
struct UnpackLimits {
  LayerBounds bounds;
  absl::Duration time = absl::Minutes(10);
  uint64_t memory_bytes = uint64_t{1} << 30;  // address space
};

// Unpacks what installs left.
class ArchiveUnpacker {
 public:
  virtual ~ArchiveUnpacker() = default;
  // Unpacks `archive`, a regular file, into the directory `tree`. The value
  // says how that ended; it may come from a process that the archive has taken
  // over, so what lies in the tree is to be looked at like a stranger's.
  // Whatever the result is, nobody writes to the tree any more, unless the
  // helper itself hangs; what was made there stays. CANCELLED;
  // DEADLINE_EXCEEDED: it took longer than `limits.time`; ABORTED: a signal
  // ended the process, such as that of a limit; RESOURCE_EXHAUSTED: no process
  // could be had for some seconds; INTERNAL: the process could not give up its
  // rights, and read nothing; UNAVAILABLE: the helper is gone, and stays so.
  // Thread-safe.
  virtual absl::StatusOr<sandbox::FileResult> Unpack(
      const os::Fd& archive, const os::Fd& tree, const UnpackLimits& limits,
      CancelToken& cancel) const = 0;
};

// A process that unpacks what installs left, in the daemon's place, which can
// no longer make processes. It reads no archive itself: for each it makes a
// process that has the archive, the directory and a pipe for its answer, and no
// right but to fill that directory (unpack_process.h). Both have the server's
// ids, so that the files are the server's, and end with the server.
class UnpackHelper final : public ArchiveUnpacker {
 public:
  // Starts it from `executable`, whose main() has to call ServeUnpacker when
  // IsUnpacker. Trees have to lie below `directory`. Preconditions: root,
  // single-threaded.
  static absl::StatusOr<std::unique_ptr<UnpackHelper>> Start(
      const std::string& directory, uid_t uid, gid_t gid,
      const std::string& executable = "/proc/self/exe");

  absl::StatusOr<sandbox::FileResult> Unpack(
      const os::Fd& archive, const os::Fd& tree, const UnpackLimits& limits,
      CancelToken& cancel) const override;

  pid_t pid() const { return pid_; }
  // A descriptor for poll(2) that becomes readable when the process has ended.
  int end() const { return pidfd_.get(); }

  // Ends the process, and with it those that unpack.
  ~UnpackHelper() override;
  UnpackHelper(const UnpackHelper&) = delete;
  UnpackHelper& operator=(const UnpackHelper&) = delete;

 private:
  UnpackHelper(os::Fd channel, os::Fd pidfd, pid_t pid)
      : channel_(std::move(channel)), pidfd_(std::move(pidfd)), pid_(pid) {}

  // Tries it once. NOT_FOUND: there was a shortage, and nothing was unpacked.
  absl::StatusOr<sandbox::FileResult> TryOnce(const os::Fd& archive,
                                              const os::Fd& tree,
                                              const UnpackLimits& limits,
                                              CancelToken& cancel) const;
  bool Gone() const;

  os::Fd channel_;  // SOCK_SEQPACKET
  os::Fd pidfd_;
  pid_t pid_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIBRARIES_UNPACK_HELPER_H_
