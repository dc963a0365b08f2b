#ifndef SANDGLASS_SERVER_LIBRARIES_UNPACK_PROCESS_H_
#define SANDGLASS_SERVER_LIBRARIES_UNPACK_PROCESS_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "policy/seccomp/seccomp.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// The side of UnpackHelper's process, and what the two say to each other.

// The helper's name, which is also its whole command line.
inline constexpr char kUnpackerName[] = "sandglass-unpacker";
// Its descriptors when it starts: the daemon's channel, and the directory below
// which all trees lie. Its first packet on the channel says that it serves.
inline constexpr int kUnpackerChannelFd = 3;
inline constexpr int kUnpackerDirectoryFd = 4;

// An order to unpack. With it come the archive, the tree and one end of a
// socket pair on which the answer is given. Whatever is sent on that, or its
// end, stops the work.
struct UnpackOrder {
  uint64_t max_bytes = 0;
  uint64_t max_files = 0;
  uint64_t memory_bytes = 0;
  uint64_t cpu_seconds = 0;

  std::string ToText() const;
  static std::optional<UnpackOrder> Parse(absl::string_view text);
};
// The places of the descriptors in the packet.
inline constexpr size_t kOrderArchive = 0;
inline constexpr size_t kOrderTree = 1;
inline constexpr size_t kOrderCaller = 2;
inline constexpr size_t kOrderFds = 3;

// How an order ended.
struct UnpackAnswer {
  enum class Kind {
    kDone,        // by itself, with `code` and `error`
    kKilled,      // by the signal `error`
    kShort,       // nothing was done: no process could be made (`error`)
    kUnconfined,  // nothing was done: the process could not give up its rights
  };
  Kind kind = Kind::kDone;
  int code = 0;  // a sandbox::FileCode
  int error = 0;

  std::string ToText() const;
  // Checks that code and error are in their ranges.
  static std::optional<UnpackAnswer> Parse(absl::string_view text);
};

// The walls around a process that unpacks.
class UnpackWalls {
 public:
  static absl::StatusOr<UnpackWalls> Prepare();

  // Leaves this process nothing but the three descriptors, /dev/null in place
  // of the standard streams, and the right to fill the tree, within the order's
  // limits and as long as `parent` lives. If the kernel lacks Landlock (5.13),
  // the files' owners and modes decide alone where it can write. False: not all
  // of it is in force, so the archive must not be read.
  // Preconditions: single-threaded, no_new_privs.
  bool Raise(const UnpackOrder& order, pid_t parent, const os::Fd& archive,
             const os::Fd& tree, const os::Fd& answer) const;

  // 0 when the kernel has none.
  int landlock_abi() const { return landlock_abi_; }

 private:
  UnpackWalls() = default;

  os::Fd null_;  // /dev/null
  int landlock_abi_ = 0;
  policy::BpfProgram filter_;
};

// Whether this process was started as the helper.
bool IsUnpacker(int argc, const char* const* argv);
// Serves until the daemon closes its end of the channel, and then ends the
// process. Returns, with an exit status, only when it can't serve.
int ServeUnpacker();

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIBRARIES_UNPACK_PROCESS_H_
