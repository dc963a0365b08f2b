#ifndef SANDGLASS_SERVER_DAEMON_INSTALL_RUNNER_H_
#define SANDGLASS_SERVER_DAEMON_INSTALL_RUNNER_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/cancel_token.h"
#include "server/job/job.h"
#include "server/job/job_runner.h"
#include "server/ops/readiness.h"

namespace sandglass::server {

// An error for callers while a program was seen to get out of its jail.
absl::Status JailsHold(const Readiness& readiness);

// Runs installs of libraries as another runner does, but none while jails don't
// hold.
class InstallRunner final : public JobRunner {
 public:
  // Both outlive it.
  InstallRunner(const Readiness& readiness, JobRunner& runner)
      : readiness_(readiness), runner_(runner) {}

  absl::StatusOr<JobResult> Run(const Job& job, CancelToken& cancel,
                                JobObserver* observer) override;

 private:
  const Readiness& readiness_;
  JobRunner& runner_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_INSTALL_RUNNER_H_
