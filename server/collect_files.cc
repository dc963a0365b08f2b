#include "server/collect_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/os/files.h"

namespace sandglass::server {

// The jail opened it, with the code's rights; what it is gets checked here,
// since a forged descriptor must not make the server read something else.
FileResult ReadCollectedFile(const sandbox::FileEvent& event,
                             uint64_t& budget) {
  FileResult result;
  result.path = event.path;
  result.error = static_cast<FileError>(event.problem);
  if (result.error != FileError::kNone) return result;
  const int fd = event.file.get();
  struct stat info = {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || !os::IsTmpfs(fd)) {
    result.error = FileError::kNotRegular;
    return result;
  }
  result.mode = info.st_mode & 07777;
  result.size = static_cast<uint64_t>(info.st_size);
  if (result.size > budget) {
    result.error = FileError::kTooLarge;
    return result;
  }
  result.content.resize(result.size);
  size_t done = 0;
  bool readable = true;
  while (done < result.content.size()) {
    const ssize_t size =
        ::pread(fd, result.content.data() + done, result.content.size() - done,
                static_cast<off_t>(done));
    if (size < 0 && errno == EINTR) continue;
    readable = size >= 0;
    if (size <= 0) break;
    done += static_cast<size_t>(size);
  }
  if (done < result.content.size()) {
    // It shrank, or can't be read; what was put by for it is given back.
    if (!readable) result.error = FileError::kUnavailable;
    result.content.resize(readable ? done : 0);
    result.content.shrink_to_fit();
    result.size = result.content.size();
  }
  budget -= result.content.size();
  return result;
}

}  // namespace sandglass::server
