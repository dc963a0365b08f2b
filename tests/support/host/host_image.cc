#include "tests/support/host/host_image.h"

#include <sched.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace sandglass::testing {

HostImage::HostImage(const std::string& directory) {
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    problem_ = std::string("a mount namespace: ") + std::strerror(errno);
    return;
  }
  for (const std::string name : {"/usr", "/etc", "/var/lib/dpkg"}) {
    std::error_code error;
    std::filesystem::create_directories(directory + name, error);
    const std::string there = directory + name;
    if (error ||
        ::mount(name.c_str(), there.c_str(), nullptr, MS_BIND, nullptr) != 0) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe)
      problem_ = name + ": " + std::strerror(errno);
      return;
    }
    mounts_.push_back(there);
    // Whoever clears the directory away must not clear the host away.
    if (::mount(nullptr, there.c_str(), nullptr,
                MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0) {
      // NOLINTNEXTLINE(concurrency-mt-unsafe)
      problem_ = name + " can't be read-only: " + std::strerror(errno);
      return;
    }
  }
}

HostImage::~HostImage() {
  for (const std::string& there : mounts_) ::umount2(there.c_str(), MNT_DETACH);
}

}  // namespace sandglass::testing
