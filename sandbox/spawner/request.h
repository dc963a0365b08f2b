#ifndef SANDGLASS_SANDBOX_SPAWNER_REQUEST_H_
#define SANDGLASS_SANDBOX_SPAWNER_REQUEST_H_

#include <string>

#include "absl/status/statusor.h"
#include "internal/spawner.pb.h"
#include "sandbox/os/seqpacket.h"

namespace sandglass::sandbox {

// Position of a template in the configuration, or -1.
int FindTemplate(const internal::SpawnerConfig& config,
                 const std::string& name);

// What the daemon asks for. It is checked like a stranger, since it faces the
// network: INVALID_ARGUMENT for all but a jail within a template, with a runner
// only where there is a zygote. The channel is over then.
absl::StatusOr<internal::CreateJail> ReadRequest(
    const internal::SpawnerConfig& config, const os::Packet& packet);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_REQUEST_H_
