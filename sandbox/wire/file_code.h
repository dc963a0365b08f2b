#ifndef SANDGLASS_SANDBOX_WIRE_FILE_CODE_H_
#define SANDGLASS_SANDBOX_WIRE_FILE_CODE_H_

#include <cerrno>
#include <cstddef>

#include "absl/strings/string_view.h"

namespace sandglass::sandbox {

// How an operation on a jail's files ended. These are the values that the file
// agent sends to the daemon. The last three are only used by the daemon itself.
#define SANDGLASS_FILE_CODES(X)                                            \
  X(kOk, "ok")                                                             \
  X(kNotFound, "not_found")                                                \
  X(kPermissionDenied, "permission_denied")                                \
  X(kIsDirectory, "is_directory")                                          \
  X(kNotDirectory, "not_directory")                                        \
  X(kNotRegular, "not_regular") /* a FIFO, a device, a file of /proc… */ \
  X(kInvalidPath, "invalid_path")                                          \
  X(kExists, "exists")                                                     \
  X(kNotEmpty, "not_empty")                                                \
  X(kNoSpace, "no_space")                                                  \
  X(kTooLarge, "too_large")                                                \
  X(kBusy, "busy")                /* a mount point, too much under way */  \
  X(kBusyChanged, "busy_changed") /* changed while it was worked on */     \
  X(kIncomplete, "incomplete")    /* fewer bytes came than announced */    \
  X(kCrossDevice, "cross_device")                                          \
  X(kInvalidPattern, "invalid_pattern")                                    \
  X(kNoMatch, "no_match")  /* the text to replace isn't there */           \
  X(kMultiple, "multiple") /* … or more often than once */               \
  X(kBadArchive, "bad_archive")                                            \
  X(kBadRequest, "bad_request")                                            \
  X(kCancelled, "cancelled")                                               \
  X(kFailed, "failed") /* see the errno */                                 \
  X(kTimedOut, "timed_out")                                                \
  X(kAgentGone, "agent_gone")                                              \
  X(kAgentBroken, "agent_broken") /* it broke the protocol */

enum class FileCode : int {
#define SANDGLASS_FILE_CODE(name, text) name,
  SANDGLASS_FILE_CODES(SANDGLASS_FILE_CODE)
#undef SANDGLASS_FILE_CODE
};

inline constexpr absl::string_view kFileCodeNames[] = {
#define SANDGLASS_FILE_CODE(name, text) text,
    SANDGLASS_FILE_CODES(SANDGLASS_FILE_CODE)
#undef SANDGLASS_FILE_CODE
};

inline constexpr int kFileCodeCount =
    static_cast<int>(sizeof(kFileCodeNames) / sizeof(kFileCodeNames[0]));

constexpr absl::string_view FileCodeName(FileCode code) {
  return kFileCodeNames[static_cast<int>(code)];
}

// How many replies may be sent before the daemon has acknowledged the first of
// them. An operation's last reply doesn't count.
inline constexpr int kFileWindow = 4;
// How many members that couldn't be unpacked one reply names by path.
inline constexpr size_t kMaxMissing = 20;
inline constexpr size_t kFileBatchFds = 16;  // descriptors of one reply

// The result of an operation. `error` is the errno that caused it, or 0 when
// none did.
struct [[nodiscard]] FileResult {
  FileCode code = FileCode::kOk;
  int error = 0;

  bool ok() const { return code == FileCode::kOk; }
};

// The result for the errno of a failed system call.
inline FileResult ResultOfErrno(int error) {
  switch (error) {
    case ENOENT:
      return {FileCode::kNotFound, error};
    case EACCES:
    case EPERM:
    case EROFS:
      return {FileCode::kPermissionDenied, error};
    case EISDIR:
      return {FileCode::kIsDirectory, error};
    case ENOTDIR:
      return {FileCode::kNotDirectory, error};
    case ELOOP:
    case ENAMETOOLONG:
    case EILSEQ:
      return {FileCode::kInvalidPath, error};
    case EEXIST:
      return {FileCode::kExists, error};
    case ENOTEMPTY:
      return {FileCode::kNotEmpty, error};
    case ENOSPC:
    case EDQUOT:
      return {FileCode::kNoSpace, error};
    case EFBIG:
    case EOVERFLOW:
      return {FileCode::kTooLarge, error};
    case EBUSY:
    case ETXTBSY:
    case EMFILE:
    case ENFILE:
      return {FileCode::kBusy, error};
    case EAGAIN:
    case ESTALE:
      return {FileCode::kBusyChanged, error};
    case ENXIO:
    case ENODEV:
      return {FileCode::kNotRegular, error};
    case EXDEV:
      return {FileCode::kCrossDevice, error};
    default:
      return {FileCode::kFailed, error};
  }
}

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_FILE_CODE_H_
