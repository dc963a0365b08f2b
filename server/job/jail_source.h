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

// The places from which one job gets its jail, best first: an idle jail in
// which an interpreter waits, be it a runner or one that was started in
// advance; a new jail with a runner; an idle one without; a new one without.
// All arguments must outlive this object.
class JailSource {
 public:
  JailSource(sandbox::Sandbox& sandbox, JailPool& pool, const Job& job)
      : sandbox_(sandbox), pool_(pool), job_(job) {}

  // Returns the next jail to try. If it turns out to have died before it was
  // handed out, the job can try the next one, since nothing has run in it.
  // RESOURCE_EXHAUSTED: there is no free slot. UNAVAILABLE: the spawner is
  // gone. A jail without a runner may not be ready yet.
  MadeJail Next();

  // Whether the latest jail existed before it was asked for.
  bool warm() const { return warm_; }
  // The kind of the latest jail.
  const std::string& kind() const { return kind_; }

 private:
  JailKey KeyOf(const std::string& kind) const;
  std::unique_ptr<sandbox::Jail> AcquireIdle(const JailKey& key);

  sandbox::Sandbox& sandbox_;
  JailPool& pool_;
  const Job& job_;
  int zygote_tries_ = 0;
  bool warm_ = false;
  std::string kind_;
};

// The error that a run's caller gets for a set-up step that failed:
// INVALID_ARGUMENT when the files of the request don't fit, otherwise INTERNAL.
absl::Status SetupError(const sandbox::FailedEvent& failed);

// The program that `jail` is to start, or that its interpreter is to run. Its
// views point into the job.
sandbox::ProgramSpec ToProgram(const Job& job, const sandbox::Jail& jail);

// The bytes to write to the interpreter that waits in this jail; empty when
// none waits. Sets `note` to what the interpreter will write at the end.
std::string WaitingFrame(const Job& job, const sandbox::Jail& jail,
                         EndMarker& note);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_JAIL_SOURCE_H_
