#ifndef SANDGLASS_SANDBOX_ARCHIVE_TAR_H_
#define SANDGLASS_SANDBOX_ARCHIVE_TAR_H_

#include <sys/types.h>
#include <time.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace sandglass::sandbox {

// The tar format of POSIX (ustar with pax headers), as far as the files of a
// jail need it.

inline constexpr size_t kTarBlock = 512;

// kOther stands for devices and FIFOs, which are read but never written.
enum class TarType { kFile, kDirectory, kSymlink, kHardLink, kOther };

struct TarMember {
  TarType type = TarType::kFile;
  std::string path;
  std::string link;  // target, for both kinds of links
  mode_t mode = 0;
  uint64_t size = 0;  // only of files
  // Any time that a file can have: tv_sec may be negative, and tv_nsec, 0 to
  // 999,999,999, is always added to it, also for times before the epoch.
  struct timespec mtime = {};
};

// Returns the blocks that precede a member's content.
std::string TarHeader(const TarMember& member);
// The number of zero bytes after `size` bytes of content.
size_t TarPadding(uint64_t size);
// The blocks that end an archive.
std::string TarEnd();

// Reads an archive from an untrusted source.
class TarReader {
 public:
  // Reads at most `size` bytes; returns 0 at the end, -1 on failure.
  using Source = std::function<ssize_t(char* data, size_t size)>;
  enum class Step {
    kMember,
    kEnd,
    kBad,         // not a tar, or with an unknown kind of member
    kCut,         // the source ended before the archive did
    kUnreadable,  // the source failed
  };

  explicit TarReader(Source source) : source_(std::move(source)) {}

  // Skips the rest of the current member's content and reads the next member.
  // Names are as they stand in the archive, unchecked.
  Step Next(TarMember& member);
  // Reads at most `size` bytes of the member's content. Returns 0 at its end,
  // -1 when the source ended or failed.
  ssize_t Read(char* data, size_t size);

 private:
  // What long names and pax headers say about the member that follows them.
  struct Overrides {
    std::optional<std::string> path;
    std::optional<std::string> link;
    std::optional<uint64_t> size;
    std::optional<struct timespec> mtime;
  };

  Step ReadBlock(char* block);
  Step Skip(uint64_t size);
  Step ReadText(uint64_t size, std::string& text);
  Step ParseHeader(const char* block, TarMember& member, bool& complete);
  Step ParseExtension(char type, uint64_t size);
  bool ParsePaxRecords(absl::string_view records);

  const Source source_;
  Overrides overrides_;
  uint64_t left_ = 0;     // unread bytes of the member's content
  uint64_t padding_ = 0;  // zero bytes after the content
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_ARCHIVE_TAR_H_
