#ifndef SANDGLASS_SANDBOX_FILES_FILE_TYPES_H_
#define SANDGLASS_SANDBOX_FILES_FILE_TYPES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// What the daemon asks a file agent for, and what it gets. Paths and names are
// bytes; all that comes from a jail is the word of its code.

template <typename T>
struct [[nodiscard]] FileAnswer {
  FileResult result;
  T value{};  // also of a failure, as far as it got

  bool ok() const { return result.ok(); }
};

enum class FileType { kOther, kRegular, kDirectory, kSymlink };

struct FileFacts {
  // Of a list: the name; of a search: the path; else empty.
  std::string name;
  FileType type = FileType::kOther;
  uint64_t size = 0;
  uint32_t mode = 0;
  absl::Time mtime;
  std::string link_target;
  // Of a change, for a regular file that has several names: the same for each.
  uint64_t inode = 0;
};

// A regular file, open for reading.
struct OpenedFile {
  os::Fd file;
  FileFacts facts;
};

enum class WriteMode { kReplace, kCreateNew, kAppend };

struct WriteOptions {
  WriteMode how = WriteMode::kReplace;
  bool make_parents = false;
  // Without: an old file keeps its mode, a new one gets 0644.
  std::optional<uint32_t> mode;
  uint64_t max_bytes = 0;  // 0: as much as fits
};

struct FileList {
  std::vector<FileFacts> entries;
  bool truncated = false;  // there are more
};

struct GlobOptions {
  bool files_only = true;
  bool hidden = false;
  uint32_t max_matches = 10'000;
  uint32_t max_visited = 200'000;
  absl::Duration time = absl::Seconds(5);
};

// Of what one Glob or Grep tells: the more is left out. Their numbers alone
// bound little, since a path can have thousands of bytes.
inline constexpr size_t kMostFoundBytes = size_t{4} << 20;

struct GrepOptions {
  bool regex = false;  // RE2's syntax
  bool ignore_case = false;
  std::vector<std::string> include;
  bool hidden = false;
  uint32_t context_before = 0;
  uint32_t context_after = 0;
  uint32_t max_matches = 1'000;
  uint32_t max_line_bytes = 4'096;
  uint32_t max_visited = 200'000;
  absl::Duration time = absl::Seconds(15);
};

struct TextLine {
  std::string path;
  uint64_t line = 0;    // from 1
  uint64_t column = 0;  // of the match, in bytes from 1; 0: a line of context
  std::string text;
  bool cut = false;
};

struct TextMatches {
  std::vector<TextLine> lines;  // matches and their context, in order
  uint64_t matches = 0;
  bool truncated = false;
};

enum class ChangeType { kCreated, kModified, kRemoved, kRenamed };

struct FileChanged {
  ChangeType type = ChangeType::kCreated;
  FileFacts facts;  // `name` is the path below the tree
  std::string old_path;
  os::Fd file;  // of a regular file, where they were asked for
};

struct TrackOptions {
  absl::Duration interval;  // zero: looks when it is told to
  bool with_files = false;
  uint32_t max_entries = 100'000;
  // For whoever keeps a copy: what changed just before a look is told again
  // with the next, and what only its mode makes unreadable is read.
  bool for_copy = false;
  bool tell_first = false;  // all there is, as created, with the first Next
};

// What couldn't be unpacked, and why.
struct MissingMember {
  std::string path;
  FileResult why;
};

// What was packed or unpacked, or copied, or removed.
struct TreeCount {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t left_out =
      0;  // unreadable, or of a kind that a tar has no place for
  // Of an unpacking that goes as far as possible: how many members couldn't be
  // made, and the first of them, kMostMissing at most.
  uint64_t missing_count = 0;
  std::vector<MissingMember> missing;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILES_FILE_TYPES_H_
