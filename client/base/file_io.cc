#include "client/base/file_io.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/base/unique_fd.h"

namespace sandglass::client {

absl::StatusOr<FileContent> ReadInput(const std::string& path,
                                      size_t max_bytes) {
  const bool standard = path == "-";
  const std::string name =
      standard ? "standard input" : absl::StrCat("'", VisibleText(path), "'");
  UniqueFd opened;
  if (!standard) {
    opened = UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!opened.valid()) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", name));
    }
  }
  const int fd = standard ? STDIN_FILENO : opened.get();
  FileContent content;
  struct stat info = {};
  if (fstat(fd, &info) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", name));
  }
  content.executable = S_ISREG(info.st_mode) && (info.st_mode & 0111) != 0;
  std::vector<char> buffer(64 * 1024);
  for (;;) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", name));
    }
    if (got == 0) return content;
    content.bytes.append(buffer.data(), static_cast<size_t>(got));
    if (content.bytes.size() > max_bytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " has more than ", max_bytes, " bytes, the most there may be"));
    }
  }
}

void FillStandardDescriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // This gets the lowest free number, which is the closed one. Read-only for
    // output too, so that a caller that closed it is told that nothing was
    // written.
    if (open("/dev/null", O_RDONLY) < 0) return;
  }
}

bool LocaleIsNotUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    // Nothing in this process changes its environment.
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    if (value == nullptr || *value == '\0') continue;
    const absl::string_view locale = value;
    const size_t dot = locale.find('.');
    if (dot == absl::string_view::npos) return false;
    const absl::string_view after = locale.substr(dot + 1);
    const absl::string_view charset = after.substr(0, after.find('@'));
    return !absl::EqualsIgnoreCase(charset, "UTF-8") &&
           !absl::EqualsIgnoreCase(charset, "utf8");
  }
  return false;
}

int WriteAll(int fd, absl::string_view bytes) {
  static const bool ascii = LocaleIsNotUtf8();
  std::string text;
  if (ascii && isatty(fd) == 1) {
    text = AsciiText(bytes);
    bytes = text;
  }
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put >= 0) {
      bytes.remove_prefix(static_cast<size_t>(put));
    } else if (errno == EAGAIN) {
      // Standard output may be shared with a process that made it non-blocking.
      pollfd poller = {fd, POLLOUT, 0};
      if (poll(&poller, 1, -1) < 0 && errno != EINTR) return errno;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

}  // namespace sandglass::client
