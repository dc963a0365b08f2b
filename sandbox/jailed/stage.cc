#include "sandbox/jailed/stage.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "sandbox/jailed/layout.h"
#include "sandbox/os/open_beneath.h"

namespace sandglass::sandbox {

os::Fd OpenWorkspace() {
  return os::Fd(::open(kWorkspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

os::Fd CreateStaged(const os::Fd& workspace, const char* path, mode_t mode) {
  const std::string whole = path;
  for (size_t slash = whole.find('/'); slash != std::string::npos;
       slash = whole.find('/', slash + 1)) {
    const std::string directory = whole.substr(0, slash);
    if (::mkdirat(workspace.get(), directory.c_str(), 0755) != 0 &&
        errno != EEXIST) {
      return os::Fd();
    }
  }
  return os::CreateBeneath(workspace, path, mode & 0777);
}

}  // namespace sandglass::sandbox
