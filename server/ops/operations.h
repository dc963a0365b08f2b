#ifndef SANDGLASS_SERVER_OPS_OPERATIONS_H_
#define SANDGLASS_SERVER_OPS_OPERATIONS_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sandglass/v1/exec.pb.h"
#include "server/base/call_threads.h"
#include "server/live_policy/live_policy.h"
#include "server/ops/metrics.h"
#include "server/ops/metrics_config.h"
#include "server/ops/readiness.h"
#include "server/ops/readiness_watch.h"
#include "server/ops/status.h"
#include "server/ops/usage_counter.h"
#include "server/phases/compile_cache.h"
#include "server/pool/fill_grace.h"
#include "server/pool/jail_pool.h"
#include "server/rpc/operator_service.h"
#include "server/rpc/peers.h"
#include "server/run/approvals.h"
#include "server/run/run.h"

namespace sandglass::server {

// What those who run the daemon see of it: counts, metrics, readiness, status.
// Hears of runs, commands, jails and calls; the work itself depends on nothing
// here but Readiness.
class Operations {
 public:
  Operations();

  Readiness& readiness() { return readiness_; }
  const Readiness& readiness() const { return readiness_; }
  Metrics& metrics() { return metrics_; }

  // A fill that is noted.
  FillFunction Noted(FillFunction fill);
  void NoteRun(const Run& run, const RunEnd& end);
  void NoteRefused(const Caller& caller, const absl::Status& status);
  void NoteCommand(const Caller& owner, const std::string& language,
                   const v1::ExecEnd& end);

  // From here on conditions are looked after. `written_directories` are those
  // that the daemon writes to.
  void StartWatch(std::vector<std::string> written_directories,
                  const LivePolicy& policy,
                  IsolationCanary::UsableFunction usable, RunFunction run,
                  const JailPool& pool,
                  std::function<std::vector<sandbox::YardStock>()> yards,
                  std::function<void()> try_languages,
                  std::function<absl::Status()> audit);
  // As ReadinessWatch has them.
  bool WaitForFirst(absl::Duration timeout) const {
    return watch_->WaitForFirst(timeout);
  }
  void LookAgain() { watch_->LookAgain(); }
  bool EscapedFrom(const policy::Profile& profile) const {
    return watch_->EscapedFrom(profile);
  }

  // Serves status and, where the configuration says so, metrics. All outlive
  // this object, `compile_cache` may be null. Its metrics_address is filled in.
  absl::Status Serve(const MetricsConfig& config, StatusSources sources,
                     const CompileCache* compile_cache,
                     const ApprovalTable& approvals, CallThreads& threads,
                     const PeerTable& peers);
  grpc::Service* service() { return &*service_; }
  // Where metrics are served; empty: nowhere.
  const std::string& metrics_address() const {
    return sources_.metrics_address;
  }

  // Conditions are left as they are. Before what the watch looks at goes.
  void StopWatch();
  // The same, and metrics are served no more. Both may be called again.
  void Stop();

 private:
  Readiness readiness_;
  Tally tally_;
  Metrics metrics_;
  FillPatience patience_;
  std::optional<ReadinessWatch> watch_;
  StatusSources sources_;
  std::optional<OperatorServiceImpl> service_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OPS_OPERATIONS_H_
