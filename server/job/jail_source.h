#ifndef SANDGLASS_SERVER_JOB_JAIL_SOURCE_H_
#define SANDGLASS_SERVER_JOB_JAIL_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "sandbox/yard/sandbox.h"
#include "server/job/end_marker.h"
#include "server/job/job.h"
#include "server/pool/jail_pool.h"

namespace sandglass::server {

// Where one job gets its jail from, best first: an idle one in which an
// interpreter waits, be it a runner or one that was started ahead; a new one
// with a runner; an idle one without; a new one. All arguments outlive it.
class JailSource {
 public:
  JailSource(sandbox::Sandbox& sandbox, JailPool& pool, const Job& job)
      : sandbox_(sandbox), pool_(pool), job_(job) {}

  // The next to try. One that died as it was given out is not the last: nothing
  // has run in it. RESOURCE_EXHAUSTED: no slot free. UNAVAILABLE: the spawner
  // is gone. A jail without a runner may still be on its way up.
  absl::StatusOr<std::unique_ptr<sandbox::Jail>> Next();

  // Whether the latest stood before it was asked for.
  bool warm() const { return warm_; }
  // Of the latest.
  const std::string& kind() const { return kind_; }

 private:
  JailKey KeyOf(const std::string& kind) const;
  std::unique_ptr<sandbox::Jail> TakeIdle(const JailKey& key);

  sandbox::Sandbox& sandbox_;
  JailPool& pool_;
  const Job& job_;
  int zygote_tries_ = 0;
  bool warm_ = false;
  std::string kind_;
};

// What a run's caller is told of a step that failed: INVALID_ARGUMENT when the
// files of the request don't fit, else INTERNAL.
absl::Status SetupError(const sandbox::FailedEvent& failed);

// What `jail` is to start, or what its interpreter is to run. Its views are
// into the job.
sandbox::ProgramSpec ToProgram(const Job& job, const sandbox::Jail& jail);

// What is written to an interpreter that waits in this jail, empty where none
// does. Sets `note` to what it then says at the end.
std::string WaitingFrame(const Job& job, const sandbox::Jail& jail,
                         EndNote& note);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_JAIL_SOURCE_H_
