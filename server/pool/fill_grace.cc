#include "server/pool/fill_grace.h"

#include "sandbox/yard/spawner_event.h"

namespace sandglass::server {

absl::Status FillGrace::Judge(const std::string& kind,
                              const absl::Status& status, MonotonicTime now) {
  absl::MutexLock lock(&mutex_);
  if (!sandbox::IsZygoteStarting(status)) {
    starting_since_.erase(kind);
    return status;
  }
  const MonotonicTime since = starting_since_.emplace(kind, now).first->second;
  if (absl::FromChrono(now - since) < patience_) return status;
  return absl::Status(status.code(), status.message());
}

}  // namespace sandglass::server
