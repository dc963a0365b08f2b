#ifndef SANDGLASS_SERVER_OPS_METRICS_H_
#define SANDGLASS_SERVER_OPS_METRICS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/wire/refused_calls.h"
#include "sandbox/yard/sandbox.h"
#include "sandglass/v1/exec.pb.h"
#include "sandglass/v1/operator.pb.h"
#include "sandglass/v1/run.pb.h"
#include "sandglass/v1/server_info.pb.h"
#include "server/ops/metrics_server.h"
#include "server/pool/pool_targets.h"

namespace sandglass::server {

// What is told to Prometheus; docs/metrics.md has the whole list. Names and
// units are Prometheus's own conventions
// (https://prometheus.io/docs/practices/naming/). No label has more than some
// ten values: never an id, a caller, or anything else that a request chooses.
// Thread-safe.
//
// What happens is noted here as it happens; what is there (the pool, sessions,
// conditions) is asked for when somebody reads the metrics.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // A run that has an answer; `queued` and `total` since it was accepted.
  void NoteRun(const v1::RunCodeResponse& response);
  void NoteCommand(const v1::ExecEnd& end);
  // System calls of programs that a jail's filter refused, where they are
  // traced.
  void NoteDenied(const std::string& language,
                  const sandbox::RefusedCalls& calls);
  // The pool made a jail, or could not, be it for a run that waits. Jails
  // without an interpreter that runs make for themselves are in the runs' own
  // phases and errors.
  void NoteFill(const JailKey& key, absl::Duration took, bool made);
  // A call of the API: "/sandglass.v1.SandboxService/RunCode", and the number
  // of the code that it ended with.
  void NoteCall(std::string_view method, int code, absl::Duration took);

  // What else is served: how the daemon does, and its compile cache, which may
  // be absent. Called by the thread that serves them.
  struct State {
    v1::GetStatusResponse status;
    std::optional<v1::CompileCache> compile_cache;
  };
  using AskState = std::function<State()>;

  // Serves http://ADDRESS/metrics from now on, as the configuration has the
  // address; with a thread of its own. Gives the address back, with the port
  // that was taken. Once. `ask` is called until Stop.
  // UNAVAILABLE: it can't listen there.
  absl::StatusOr<std::string> Serve(const std::string& address, AskState ask);
  void Stop();

  // All as Prometheus reads it.
  std::string Text(const State& state) const;

 private:
  struct Families;

  const std::unique_ptr<Families> families_;
  std::unique_ptr<MetricsServer> server_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_METRICS_H_
