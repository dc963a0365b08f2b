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

// The tar format of POSIX (ustar with pax headers), as far as files of a jail
// need it.

inline constexpr size_t kTarBlock = 512;

// kOther: devices and FIFOs, which are only read.
enum class TarType { kFile, kDirectory, kSymlink, kHardLink, kOther };

struct TarMember {
  TarType type = TarType::kFile;
  std::string path;
  std::string link;  // of both kinds of links
  mode_t mode = 0;
  uint64_t size = 0;  // of files
  // Any that a file can have: seconds from the epoch on, and 0 to 999,999,999
  // nanoseconds on top of them, also of a time before it.
  struct timespec mtime = {};
};

// The blocks that stand before a member's content.
std::string TarHeader(const TarMember& member);
// Zero bytes behind `size` bytes of content.
size_t TarPadding(uint64_t size);
// What ends an archive.
std::string TarEnd();

// Reads an archive from a source that nobody has looked at.
class TarReader {
 public:
  // Reads up to so many bytes; 0 at the end, -1 when it fails.
  using Source = std::function<ssize_t(char* data, size_t size)>;
  enum class Step {
    kMember,
    kEnd,
    kBad,         // no tar, or of a kind that isn't known
    kCut,         // the source ended before the archive
    kUnreadable,  // the source failed
  };

  explicit TarReader(Source source) : source_(std::move(source)) {}

  // The next member, past what is left of the one before. Names are as they
  // stand in the archive.
  Step Next(TarMember& member);
  // Up to so many bytes of the member's content, 0 at its end, -1 when the
  // source ended or failed.
  ssize_t Read(char* data, size_t size);

 private:
  // What long names and pax headers say of the member to come.
  struct Overrides {
    std::optional<std::string> path;
    std::optional<std::string> link;
    std::optional<uint64_t> size;
    std::optional<struct timespec> mtime;
  };

  Step ReadBlock(char* block);
  Step Skip(uint64_t size);
  Step ReadText(uint64_t size, std::string& text);
  Step TakeHeader(const char* block, TarMember& member, bool& complete);
  Step TakeExtension(char type, uint64_t size);
  bool TakePaxRecords(absl::string_view records);

  const Source source_;
  Overrides overrides_;
  uint64_t left_ = 0;     // of the member's content
  uint64_t padding_ = 0;  // behind it
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_ARCHIVE_TAR_H_
