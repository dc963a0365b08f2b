#include "sandbox/jail/backlog_bytes.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"

namespace sandglass::sandbox {
namespace {

constexpr uint64_t kFewSockets = 8;
// Of include/net/tcp_states.h: what is left of a connection that has ended.
constexpr absl::string_view kTimeWait = "06";

// The number of sockets in the network namespace: "sockets: used 7".
uint64_t CountSockets(const std::string& directory) {
  const absl::StatusOr<std::string> text =
      os::ReadSmallFile(AT_FDCWD, (directory + "sockstat").c_str());
  if (!text.ok()) return 0;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    uint64_t count = 0;
    if (words.size() == 3 && words[0] == "sockets:" &&
        absl::SimpleAtoi(words[2], &count)) {
      return count;
    }
  }
  return 0;
}

uint64_t ReadList(const std::string& path, uint64_t enough) {
  const os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char page[os::kProcPageBytes];
  uint64_t bytes = 0;
  while (bytes <= enough) {
    const ssize_t size = ::read(file.get(), page, sizeof(page));
    if (size <= 0) break;
    bytes += BacklogBytesIn({page, static_cast<size_t>(size)});
  }
  return bytes;
}

// Reads a line "sl local_address rem_address st tx_queue:rx_queue tr:tm->when
// retrnsmt uid timeout inode …"; the queues are in hexadecimal digits.
uint64_t ConnectionBytes(absl::string_view line) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, ' ', absl::SkipEmpty());
  if (words.size() < 10 || words[9] != "0" || words[3] == kTimeWait) return 0;
  const std::pair<absl::string_view, absl::string_view> queues =
      absl::StrSplit(words[4], absl::MaxSplits(':', 1));
  uint64_t sent = 0;
  uint64_t to_read = 0;
  if (!absl::SimpleHexAtoi(queues.first, &sent) ||
      !absl::SimpleHexAtoi(queues.second, &to_read)) {
    return 0;
  }
  return sent + to_read + kConnectionBytes;
}

}  // namespace

uint64_t BacklogBytesIn(absl::string_view lines) {
  uint64_t bytes = 0;
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    bytes += ConnectionBytes(line);
  }
  return bytes;
}

uint64_t BacklogBytes(const JailProcess& process, uint64_t enough) {
  if (process.pid <= 0) return 0;
  const std::string directory = absl::StrCat("/proc/", process.pid, "/net/");
  if (CountSockets(directory) < kFewSockets) return 0;
  uint64_t bytes = ReadList(directory + "tcp", enough);
  if (bytes <= enough) bytes += ReadList(directory + "tcp6", enough - bytes);
  // ORDER: checked last: then it was this process all the time.
  return IsStill(process) ? bytes : 0;
}

}  // namespace sandglass::sandbox
