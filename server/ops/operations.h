#ifndef SANDGLASS_SERVER_OPS_OPERATIONS_H_
#define SANDGLASS_SERVER_OPS_OPERATIONS_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sandglass/v1/exec.pb.h"
#include "sandglass/v1/operator.pb.h"
#include "server/exec/command_watcher.h"
#include "server/identity/identity.h"
#include "server/live_policy/live_policy.h"
#include "server/metrics/metrics_config.h"
#include "server/ops/metrics.h"
#include "server/ops/operated_daemon.h"
#include "server/ops/readiness.h"
#include "server/ops/readiness_watch.h"
#include "server/ops/status.h"
#include "server/ops/usage_counter.h"
#include "server/phases/compile_cache.h"
#include "server/pool/fill_grace.h"
#include "server/pool/jail_pool.h"
#include "server/run/run.h"
#include "server/run/run_watcher.h"

namespace sandglass::server {

// What those who run the daemon see of it: counts, metrics, readiness, status.
// Hears of runs, commands, jails and calls; the work itself depends on nothing
// here but Readiness.
class Operations final : public RunWatcher, public CommandWatcher {
 public:
  Operations();

  Readiness& readiness() { return readiness_; }
  const Readiness& readiness() const { return readiness_; }
  Metrics& metrics() { return metrics_; }

  // Returns a function that does `fill` and notes the result.
  FillFunction Recording(FillFunction fill);
  void RecordRun(const Run& run, const RunEnd& end) override;
  void RecordRefused(const Identity& caller,
                     const absl::Status& status) override;
  void RecordCommand(const Identity& owner, const std::string& language,
                     const v1::ExecEnd& end) override;

  // From here on conditions are looked after. This fills in readiness of
  // `parts`.
  void StartWatch(ReadinessWatchParts parts);
  ReadinessWatch& watch() { return *watch_; }
  const ReadinessWatch& watch() const { return *watch_; }

  // From now on Status can be asked, and metrics are served if the
  // configuration says so. Whatever `sources` points to must outlive this
  // object, as must `compile_cache`, which may be null. This fills in
  // readiness, usage_counter and metrics_address of `sources`.
  absl::Status Serve(const MetricsConfig& config, StatusSources sources,
                     const CompileCache* compile_cache);
  // The answer to GetStatus. May take a moment. Call it only after Serve.
  v1::GetStatusResponse Status() const { return MakeStatus(sources_); }
  const UsageCounter& usage_counter() const { return usage_counter_; }

  // Stops watching; the conditions stay as they are. Call it before what the
  // watch looks at is destroyed.
  void StopWatch();
  // Does the same, and stops serving metrics. Both may be called again.
  void Stop();

 private:
  Readiness readiness_;
  UsageCounter usage_counter_;
  Metrics metrics_;
  FillGrace patience_;
  std::optional<ReadinessWatch> watch_;
  StatusSources sources_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_OPERATIONS_H_
