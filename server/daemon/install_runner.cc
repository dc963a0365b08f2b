#include "server/daemon/install_runner.h"

#include "server/base/errors.h"

namespace sandglass::server {

absl::Status JailsHold(const Readiness& readiness) {
  const absl::Status held = readiness.Get(ReadyWhen::kIsolation);
  return absl::IsFailedPrecondition(held) ? IsolationBroken()
                                          : absl::OkStatus();
}

absl::StatusOr<JobResult> InstallRunner::Run(const Job& job,
                                             CancelToken& cancel,
                                             JobObserver* observer) {
  if (absl::Status hold = JailsHold(readiness_); !hold.ok()) return hold;
  return runner_.Run(job, cancel, observer);
}

}  // namespace sandglass::server
