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

// The arguments and results of a file agent's operations. Paths and names are
// bytes, and nothing that comes from a jail can be trusted.

template <typename T>
struct [[nodiscard]] FileAnswer {
  FileResult result;
  T value{};  // on failure too, as far as it got

  bool ok() const { return result.ok(); }
};

enum class FileType { kOther, kRegular, kDirectory, kSymlink };

struct FileFacts {
  // In a list: the name; in a search: the path; else empty.
  std::string name;
  FileType type = FileType::kOther;
  uint64_t size = 0;
  uint32_t mode = 0;
  absl::Time mtime;
  std::string link_target;
  // In a change, for a regular file with several names: a number that is the
  // same for each of them.
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
  // Absent: an existing file keeps its mode, a new one gets 0644.
  std::optional<uint32_t> mode;
  uint64_t max_bytes = 0;  // 0: as much as fits
};

struct FileList {
  std::vector<FileFacts> entries;
  bool truncated = false;  // there are more entries
};

struct GlobOptions {
  bool files_only = true;
  bool hidden = false;
  uint32_t max_matches = 10'000;
  uint32_t max_visited = 200'000;
  absl::Duration time = absl::Seconds(5);
};

// The most bytes of one Glob's or Grep's results; what exceeds them is left
// out. Limits on the number of results alone bound little, since a path can
// have thousands of bytes.
inline constexpr size_t kMaxFoundBytes = size_t{4} << 20;

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
  uint64_t column = 0;  // of the match, in bytes from 1; 0: context line
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
  os::Fd file;  // of a regular file, where files were asked for
};

struct TrackOptions {
  absl::Duration interval;  // zero: compares only when told to
  bool with_files = false;
  uint32_t max_entries = 100'000;
  // For callers that keep a copy: what changed shortly before a comparison is
  // reported again with the next one, and what only its mode makes unreadable
  // is read.
  bool for_copy = false;
  bool tell_first = false;  // the first Next reports all as created
};

// A member that couldn't be unpacked, and the reason.
struct MissingMember {
  std::string path;
  FileResult why;
};

// What was packed, unpacked, copied or removed.
struct TreeCount {
  uint64_t entries = 0;
  uint64_t bytes = 0;
  uint64_t left_out =
      0;  // unreadable, or of a kind that a tar has no place for
  // For an unpacking that goes as far as possible: how many members couldn't be
  // made, and the first of them, at most kMaxMissing.
  uint64_t missing_count = 0;
  std::vector<MissingMember> missing;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILES_FILE_TYPES_H_
