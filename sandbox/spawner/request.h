#ifndef SANDGLASS_SANDBOX_SPAWNER_REQUEST_H_
#define SANDGLASS_SANDBOX_SPAWNER_REQUEST_H_

#include "absl/status/statusor.h"
#include "internal/spawner.pb.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/template_book.h"

namespace sandglass::sandbox {

// What the daemon asks for. It is checked like a stranger, since it faces the
// network: INVALID_ARGUMENT for all but a question what there is, and a jail
// within a template, with a runner only where there is a zygote (`zygote` not
// null) that has the template's image. The channel is over then.
absl::StatusOr<internal::SpawnerRequest> ReadRequest(
    TemplateBook& templates, const internal::Zygote* zygote,
    const os::Packet& packet);

// The spawner's zygote; null: it has none.
inline const internal::Zygote* ZygoteOf(const internal::SpawnerConfig& config) {
  return config.has_zygote() ? &config.zygote() : nullptr;
}

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_REQUEST_H_
