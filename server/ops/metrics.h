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
#include "server/metrics/metrics_server.h"
#include "server/pool/pool_targets.h"

namespace sandglass::server {

// The metrics for Prometheus; docs/metrics.md has the whole list. Names and
// units follow Prometheus's own conventions
// (https://prometheus.io/docs/practices/naming/). No label has more than some
// ten values: it is never an id, a caller, or anything else that a request
// chooses. Thread-safe.
//
// Events are noted here when they happen; the present state (the pool,
// sessions, conditions) is asked for when somebody reads the metrics.
class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Notes a run that has an answer; its `queued` and `total` are counted since
  // it was accepted.
  void RecordRun(const v1::RunCodeResponse& response);
  void RecordCommand(const v1::ExecEnd& end);
  // Notes system calls of programs that a jail's filter refused, if calls are
  // traced.
  void RecordRefusedCalls(const std::string& language,
                          const sandbox::RefusedCalls& calls);
  // Notes that the pool made a jail, or could not, including jails for which a
  // run waits. Jails without an interpreter, which runs make for themselves,
  // appear in the runs' own phases and errors instead.
  void RecordFill(const JailKey& key, absl::Duration took, bool made);
  // Notes a call of the API: its name, such as
  // "/sandglass.v1.SandboxService/RunCode", and the number of the status code
  // with which it ended.
  void RecordCall(std::string_view method, int code, absl::Duration took);

  // The rest of what is served: the daemon's status and that of its compile
  // cache, which may be absent. Called by the thread that serves the metrics.
  struct State {
    v1::GetStatusResponse status;
    std::optional<v1::CompileCache> compile_cache;
  };
  using AskState = std::function<State()>;

  // `reason` is one of a few words.
  void NoteRefusedCaller(const char* reason);

  // Serves http://ADDRESS/metrics from now on, with a thread of its own;
  // `address` is in the form of the configuration. Returns the address with the
  // port that was taken. Call once. `ask` is called until Stop. UNAVAILABLE: it
  // can't listen there.
  absl::StatusOr<std::string> Serve(const std::string& address, AskState ask);
  void Stop();

  // All metrics in the text format that Prometheus reads.
  std::string Text(const State& state) const;

 private:
  struct Families;

  const std::unique_ptr<Families> families_;
  std::unique_ptr<MetricsServer> server_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_METRICS_H_
