#include "server/run/job_router.h"

#include <memory>
#include <utility>

#include "server/base/monotonic.h"
#include "server/job/one_use_job.h"
#include "server/session/session.h"

namespace sandglass::server {

absl::StatusOr<JobResult> JobRouter::Run(const Job& job, CancelToken& cancel,
                                         JobObserver* observer) {
  if (job.kernel != nullptr) return RunRich(parts_, job, cancel, observer);
  if (job.session == nullptr) {
    return RunJob(*parts_.sandbox, *parts_.pool, job, cancel, observer);
  }
  // If the session ended while the run waited, its end has cancelled the run.
  if (absl::Status lives = job.session->Lives(); !lives.ok()) return lives;
  if (absl::Status thawed = job.session->Thaw(); !thawed.ok()) return thawed;
  absl::StatusOr<JobResult> result =
      job.session->host().RunCell(job, cancel, observer);
  // Whoever gets the answer may rely on the files being saved.
  const Instant began = Now();
  const absl::Status saved = job.session->Save();
  if (!result.ok()) return result;
  result->cell->files_not_saved = std::string(saved.message());
  result->timings.stage_out += Between(began, Now());
  return result;
}

}  // namespace sandglass::server
