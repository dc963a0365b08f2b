#ifndef SANDGLASS_SERVER_JOB_RUN_LISTENER_H_
#define SANDGLASS_SERVER_JOB_RUN_LISTENER_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/job/job.h"

namespace sandglass::v1 {
class RunCodeResponse;
}  // namespace sandglass::v1

namespace sandglass::server {

// How a run ended for one of its listeners.
struct RunEnd {
  absl::Status status;  // OK exactly when `response` is set
  std::shared_ptr<const v1::RunCodeResponse> response;
  // The listener came later, under the same request_id.
  bool joined = false;
  // A repeat with the same request_id will get this answer again.
  bool kept = false;
};

// Hears of a run, from its libraries to its answer. Whoever runs a job calls
// it, on the job's worker thread, never by two threads at once and never after
// JobRunner::Run has returned; only OnEnd comes later, from whoever made the
// answer. The methods do nothing unless they are overridden; those of a call
// that waits for a run must not block.
class RunListener {
 public:
  virtual ~RunListener() = default;
  // A line printed by the tool that installs the job's libraries.
  virtual void OnLibraryProgress(std::string_view /*line*/) {}
  // The compile phase is over, successfully or not. Only for jobs that have
  // one.
  virtual void OnCompiled(const JobResult& /*compile*/) {}
  // The user's code starts now; `job` is what runs.
  virtual void OnStarted(const Job& /*job*/) {}
  // A piece of output; `offset` is its place in its stream. Called for all
  // output, including what the answer leaves out, up to output_total_bytes.
  virtual void OnOutput(Stream /*stream*/, std::string_view /*data*/,
                        uint64_t /*offset*/, absl::Duration /*since_start*/) {}
  // Something is displayed.
  virtual void OnRich(const RichOutput& /*output*/,
                      absl::Duration /*since_start*/) {}
  // A file that was asked for. Returns true when the listener has taken it
  // over; it is then not in the result, and no bound applies to it.
  virtual bool OnFile(const sandbox::FileEvent& /*file*/) { return false; }
  // The run that was accepted for a call has its answer. Called once, as the
  // last method, and as the only one of a listener that joined late; the
  // listener may be gone when it returns. A job that no call waits for has no
  // such end.
  virtual void OnEnd(const RunEnd& /*end*/) {}
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_RUN_LISTENER_H_
