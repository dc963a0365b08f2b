#include "server/daemon/log_bound.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace sandglass::server {

void BoundLog(int fd, uint64_t most) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
      static_cast<uint64_t>(info.st_size) <= most) {
    return;
  }
  const int flags = ::fcntl(fd, F_GETFL);
  if ((flags & O_ACCMODE) != O_RDWR || (flags & O_APPEND) == 0) return;
  std::string kept(most / 4, '\0');
  const ssize_t size = ::pread(fd, kept.data(), kept.size(),
                               info.st_size - static_cast<off_t>(kept.size()));
  kept.resize(size < 0 ? 0 : static_cast<size_t>(size));
  // The first line may not be whole.
  kept.erase(0, kept.find('\n') == std::string::npos ? kept.size()
                                                     : kept.find('\n') + 1);
  if (::ftruncate(fd, 0) != 0) return;
  // What doesn't fit on the disk is lost, as any line would be.
  if (::write(fd, kept.data(), kept.size()) < 0) return;
}

}  // namespace sandglass::server
