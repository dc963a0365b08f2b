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

// What a jail may look like: compiled at start from files that only root can
// write. A request names one and fills typed slots; it never describes a jail.
struct JailTemplate {
  std::string name;        // the profile's name
  policy::Limits maximum;  // the spawner refuses slots above it
  policy::DiskCap disk;    // of every such jail, where the host can cap it
  std::string image = std::string(policy::kHostImage);  // of every such jail
  policy::BpfProgram seccomp;
  // Of every such jail; null: it has `lo` alone.
  std::shared_ptr<const policy::NetworkPolicy> network;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_JAIL_TEMPLATE_H_
