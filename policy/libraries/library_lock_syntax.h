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

// What the readers of lock files share. Only for library_lock*.cc. Texts are
// printable ASCII, blanks, tabs and line ends by then, at most kMostLockBytes.

// INVALID_ARGUMENT about the lock; the latter with the line, counted from 1.
absl::Status RefuseLock(absl::string_view words);
absl::Status RefuseLockLine(size_t line, absl::string_view words);
// About a library that is asked for and isn't there as it is asked for.
absl::Status RefuseAsked(const Library& asked, absl::string_view words);
absl::Status RefuseNotLocked(const Library& asked);

struct LockLine {
  size_t number = 0;  // of its first line, from 1
  std::string text;   // without "\r", and tabs as blanks
};
std::vector<LockLine> LockLines(absl::string_view text);

// Whether `text` is base64 with its padding, of so many bytes.
bool IsBase64Of(absl::string_view text, size_t bytes);
// Small hexadecimal digits, of so many bytes.
bool IsHexOf(absl::string_view text, size_t bytes);

// Sorts by name and version and leaves out repeats. RefuseLock for more than
// kMostLockEntries, and none.
absl::Status SetEntries(std::vector<Library> entries, LibraryLock& lock);

// Each reads its ecosystem's form. `asked` is what the request names, each once
// by name; empty: filled with what the lock asks for. RefuseAsked for one
// that the lock hasn't.
absl::StatusOr<LibraryLock> ReadPythonLock(absl::string_view text,
                                           std::vector<Library>& asked);
absl::StatusOr<LibraryLock> ReadNodeLock(absl::string_view text,
                                         std::vector<Library>& asked);
absl::StatusOr<LibraryLock> ReadRubyLock(absl::string_view text,
                                         std::vector<Library>& asked);
absl::StatusOr<LibraryLock> ReadGoLock(absl::string_view text,
                                       std::vector<Library>& asked);

// npm's files for what is asked for now.
std::vector<LockFile> NodeLockFiles(const LibrarySet& set);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_LOCK_SYNTAX_H_
