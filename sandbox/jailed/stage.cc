#include "sandbox/jailed/stage.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "sandbox/os/open_beneath.h"
#include "sandbox/wire/jail_layout.h"

namespace sandglass::sandbox {

os::Fd OpenWorkspace() {
  return os::Fd(::open(kWorkspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

os::Fd CreateStaged(const os::Fd& workspace, const char* path, mode_t mode) {
  std::string rest = path;
  os::Fd held;
  const os::Fd* directory = &workspace;
  for (size_t slash; (slash = rest.find('/')) != std::string::npos;) {
    const std::string name = rest.substr(0, slash);
    rest.erase(0, slash + 1);
    if (::mkdirat(directory->get(), name.c_str(), 0755) != 0 &&
        errno != EEXIST) {
      return os::Fd();
    }
    // One name at a time, since mkdirat(2) follows links in all parts before
    // the last.
    os::Fd next = os::OpenBeneath(*directory, name.c_str(),
                                  O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (!next.valid()) return os::Fd();
    held = std::move(next);
    directory = &held;
  }
  return os::CreateBeneath(*directory, rest.c_str(), mode & 0777);
}

}  // namespace sandglass::sandbox
