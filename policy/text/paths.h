#ifndef SANDGLASS_POLICY_TEXT_PATHS_H_
#define SANDGLASS_POLICY_TEXT_PATHS_H_

#include <cstddef>
#include <string_view>

#include "absl/status/status.h"

namespace sandglass::policy {

// Bounds of a path in a request, relative to /workspace.
inline constexpr size_t kMaxPathBytes = 512;
inline constexpr size_t kMaxPathSegments = 32;
inline constexpr size_t kMaxNameBytes = 255;  // NAME_MAX of Linux

// OK for a path whose text alone ensures that it names something below its
// base: it is relative, within the bounds above, and has no NUL and no segment
// that is empty, "." or "..". INVALID_ARGUMENT says what is wrong. Symbolic
// links have to be handled by whoever opens it (openat2 with RESOLVE_BENEATH).
absl::Status ValidateRelativePath(std::string_view path);

// True when the text has a character that is special for GlobMatch.
bool IsGlob(std::string_view pattern);

// Length of the bracket expression with which `pattern` begins; 0 when there is
// none that ends in the same segment.
size_t BracketLength(std::string_view pattern);

// OK for a pattern that is a valid relative path and closes its brackets.
absl::Status ValidateGlob(std::string_view pattern);

// Whether `path` (segments joined by "/") matches `pattern` as a whole.
//   *      any number of characters of one segment, a leading dot included
//   ?      one character of a segment
//   [a-z]  one of these; [!a-z] or [^a-z] one that isn't one of these; "]"
//          stands for itself right after the opening, "-" at either end
//   **     as a whole segment: any number of segments, or none
// A character is a UTF-8 sequence, or a single byte where the text isn't UTF-8.
// Everything else, including the backslash, stands for itself; "[*]" matches a
// star. The time is at most proportional to the product of both lengths.
// Patterns that ValidateGlob refuses, and paths over 4096 bytes, match nothing.
bool GlobMatch(std::string_view pattern, std::string_view path);

// The same, except that a name that begins with a dot is only matched by a
// segment of the pattern that begins with one, as in a shell.
bool GlobMatchVisible(std::string_view pattern, std::string_view path);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TEXT_PATHS_H_
