// A runner of jobs that does what a function of the test says.
#ifndef SANDGLASS_TESTS_UNIT_SERVER_SCRIPTED_RUNNER_H_
#define SANDGLASS_TESTS_UNIT_SERVER_SCRIPTED_RUNNER_H_

#include <functional>
#include <utility>

#include "absl/status/statusor.h"
#include "server/base/cancel_token.h"
#include "server/job/job.h"
#include "server/job/job_runner.h"

namespace sandglass::server {

class ScriptedRunner final : public JobRunner {
 public:
  using Script = std::function<absl::StatusOr<JobResult>(
      const Job& job, CancelToken& cancel, RunListener* listener)>;

  explicit ScriptedRunner(Script script) : script_(std::move(script)) {}

  absl::StatusOr<JobResult> Run(const Job& job, CancelToken& cancel,
                                RunListener* listener) override {
    return script_(job, cancel, listener);
  }

 private:
  const Script script_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_TESTS_UNIT_SERVER_SCRIPTED_RUNNER_H_
