#ifndef SANDGLASS_SERVER_DAEMON_INSTALL_RUNNER_H_
#define SANDGLASS_SERVER_DAEMON_INSTALL_RUNNER_H_

#include "absl/status/statusor.h"
#include "sandbox/yard/sandbox.h"
#include "server/base/cancel_token.h"
#include "server/daemon/run_gate.h"
#include "server/job/job.h"
#include "server/job/job_runner.h"
#include "server/job/one_use_job.h"
#include "server/ops/readiness.h"
#include "server/pool/jail_pool.h"

namespace sandglass::server {

// Runs installs of libraries, each in a jail of its own; none while jails don't
// hold.
class InstallRunner final : public JobRunner {
 public:
  // All of these outlive it.
  InstallRunner(const Readiness& readiness, sandbox::Sandbox& sandbox,
                JailPool& pool)
      : readiness_(readiness), sandbox_(sandbox), pool_(pool) {}

  absl::StatusOr<JobResult> Run(const Job& job, CancelToken& cancel,
                                RunListener* listener) override {
    if (absl::Status hold = JailsHold(readiness_); !hold.ok()) return hold;
    return RunJob(sandbox_, pool_, job, cancel, listener);
  }

 private:
  const Readiness& readiness_;
  sandbox::Sandbox& sandbox_;
  JailPool& pool_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_INSTALL_RUNNER_H_
