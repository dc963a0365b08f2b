#include "sandbox/jail/netlink_bytes.h"

#include <unistd.h>

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "sandbox/os/files.h"

namespace sandglass::sandbox {
namespace {

// A page that isn't half full is the last.
constexpr size_t kLastPageBytes = os::kProcPageBytes / 2;

// Reads a line "sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode" of numbers;
// returns 0 for the line with these names.
uint64_t SocketBytes(absl::string_view line) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  uint64_t to_read = 0;
  uint64_t sent = 0;
  if (words.size() < 6 || !absl::SimpleAtoi(words[4], &to_read) ||
      !absl::SimpleAtoi(words[5], &sent)) {
    return 0;
  }
  return to_read + sent + kNetlinkSocketBytes;
}

}  // namespace

uint64_t NetlinkBytes(const os::Fd& list, uint64_t enough) {
  char page[os::kProcPageBytes];
  uint64_t bytes = 0;
  off_t offset = 0;
  ssize_t size = 0;
  do {
    size = ::pread(list.get(), page, sizeof(page), offset);
    if (size <= 0) break;
    offset += size;
    const absl::string_view lines(page, static_cast<size_t>(size));
    for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
      bytes += SocketBytes(line);
    }
  } while (bytes <= enough && static_cast<size_t>(size) >= kLastPageBytes);
  return bytes;
}

}  // namespace sandglass::sandbox
