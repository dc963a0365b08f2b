#ifndef SANDGLASS_SANDBOX_SPAWNER_REQUEST_H_
#define SANDGLASS_SANDBOX_SPAWNER_REQUEST_H_

#include "absl/status/statusor.h"
#include "internal/spawner.pb.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/template_book.h"

namespace sandglass::sandbox {

// Reads a request of the daemon. The daemon faces the network, so it is trusted
// no more than a stranger: INVALID_ARGUMENT for everything but a question for
// stock, and a request for a jail within a template, with a runner only if
// there is a zygote (`zygote` not null) that has the template's image. After an
// error the channel must not be used any more.
absl::StatusOr<internal::SpawnerRequest> ReadRequest(
    TemplateBook& templates, const internal::Zygote* zygote,
    const os::Packet& packet);

// The spawner's zygote, or null if it has none.
inline const internal::Zygote* ZygoteOf(const internal::SpawnerConfig& config) {
  return config.has_zygote() ? &config.zygote() : nullptr;
}

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_REQUEST_H_
