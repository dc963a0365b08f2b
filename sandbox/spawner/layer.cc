#include "sandbox/spawner/layer.h"

#include <fcntl.h>

#include "sandbox/os/mount.h"
#include "sandbox/os/open_beneath.h"
#include "sandbox/wire/jail_layout.h"

namespace sandglass::sandbox {

os::Fd OpenLayer(const std::string& id) {
  const os::Fd layers(::open(kYardLayers, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!layers.valid()) return {};
  const os::Fd tree = os::OpenDirectoryNoLinks(layers, (id + "/tree").c_str());
  if (!tree.valid()) return {};
  return os::CloneDirectory(tree);
}

}  // namespace sandglass::sandbox
