#include "sandbox/host/disks.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "sandbox/os/files.h"

namespace sandglass::sandbox {
namespace {

bool IsInMemory(const std::string& path) {
  const os::Fd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
  return place.valid() && os::IsTmpfs(place.get());
}

std::string NearestThere(std::string path) {
  while (path.size() > 1 && ::access(path.c_str(), F_OK) != 0) {
    path.resize(std::max<size_t>(path.rfind('/'), 1));
  }
  return path;
}

}  // namespace

absl::StatusOr<std::string> WholeDisk(unsigned major, unsigned minor,
                                      const std::string& sys) {
  const std::string number = absl::StrCat(major, ":", minor);
  const std::string device = absl::StrCat(sys, "/dev/block/", number);
  if (::access(device.c_str(), F_OK) != 0) {
    return absl::NotFoundError(absl::StrCat("no block device ", number));
  }
  if (::access((device + "/partition").c_str(), F_OK) != 0) return number;
  // The link leads to the partition's directory, which is inside that of its
  // disk.
  const absl::StatusOr<std::string> disk =
      os::ReadSmallFile(AT_FDCWD, (device + "/../dev").c_str());
  if (!disk.ok()) return disk.status();
  return std::string(absl::StripAsciiWhitespace(*disk));
}

Disks FindDisks(const std::vector<std::string>& paths, const std::string& sys) {
  Disks disks;
  for (const std::string& place : paths) {
    const std::string path = NearestThere(place);
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0 || IsInMemory(path)) continue;
    absl::StatusOr<std::string> disk =
        WholeDisk(major(info.st_dev), minor(info.st_dev), sys);
    if (!disk.ok()) {
      disks.without.push_back(
          absl::StrCat(path, " (its file system has no disk of its own)"));
    } else if (std::find(disks.numbers.begin(), disks.numbers.end(), *disk) ==
               disks.numbers.end()) {
      disks.numbers.push_back(*std::move(disk));
    }
  }
  return disks;
}

}  // namespace sandglass::sandbox
