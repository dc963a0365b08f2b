#ifndef SANDGLASS_SANDBOX_WIRE_JAIL_TEMPLATE_H_
#define SANDGLASS_SANDBOX_WIRE_JAIL_TEMPLATE_H_

#include <memory>
#include <string>

#include "policy/language/image.h"
#include "policy/limits/disk_cap.h"
#include "policy/limits/limits.h"
#include "policy/network/network.h"
#include "policy/seccomp/seccomp.h"

namespace sandglass::sandbox {

// What a jail may look like. Templates are compiled at the start from files
// that only root can write. A request names a template and fills its typed
// slots; it never describes a jail.
struct JailTemplate {
  std::string name;        // the profile's name
  policy::Limits maximum;  // the spawner refuses slots above these
  policy::DiskCap disk;    // of each such jail, where the host can cap it
  std::string image = std::string(policy::kHostImage);  // of each such jail
  policy::BpfProgram seccomp;
  // The network of each such jail; null: such jails have only `lo`.
  std::shared_ptr<const policy::NetworkPolicy> network;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_JAIL_TEMPLATE_H_
