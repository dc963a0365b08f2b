#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_LOCK_SYNTAX_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_LOCK_SYNTAX_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "policy/libraries/libraries.h"
#include "policy/libraries/library_lock.h"

namespace sandglass::policy {

// What the readers of lock files share. Only for library_lock*.cc. By then
// texts consist of printable ASCII, spaces, tabs and line ends, and have at
// most kMaxLockBytes.

// INVALID_ARGUMENT about the lock; the second one names the line, counted from
// 1.
absl::Status RefuseLock(absl::string_view words);
absl::Status RefuseLockLine(size_t line, absl::string_view words);
// INVALID_ARGUMENT about a requested library that isn't in the lock, or not in
// the requested version.
absl::Status RefuseAsked(const Library& asked, absl::string_view words);
absl::Status RefuseNotLocked(const Library& asked);

struct LockLine {
  size_t number = 0;  // of its first line, counted from 1
  std::string text;   // without "\r", and tabs as blanks
};
std::vector<LockLine> LockLines(absl::string_view text);

// Whether `text` is the base64 form, with padding, of exactly `bytes` bytes.
bool IsBase64Of(absl::string_view text, size_t bytes);
// Whether `text` is lower-case hexadecimal digits for exactly `bytes` bytes.
bool IsHexOf(absl::string_view text, size_t bytes);

// Sorts by name and version and removes duplicates. RefuseLock when there are
// more than kMaxLockEntries, or none.
absl::Status SetEntries(std::vector<Library> entries, LibraryLock& lock);

// Each of these reads the form of its ecosystem. `asked` is what the request
// names, each name once; if it is empty, it is filled with what the lock itself
// requests. RefuseAsked for a library that isn't in the lock.
absl::StatusOr<LibraryLock> ReadPythonLock(absl::string_view text,
                                           std::vector<Library>& asked);
absl::StatusOr<LibraryLock> ReadNodeLock(absl::string_view text,
                                         std::vector<Library>& asked);
absl::StatusOr<LibraryLock> ReadRubyLock(absl::string_view text,
                                         std::vector<Library>& asked);
absl::StatusOr<LibraryLock> ReadGoLock(absl::string_view text,
                                       std::vector<Library>& asked);

// npm's files for what is requested now.
std::vector<LockFile> NodeLockFiles(const LibrarySet& set);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_LOCK_SYNTAX_H_
