#include "server/ops/operations.h"

#include <utility>

#include "sandbox/os/clocks.h"
#include "sandbox/yard/spawner_event.h"
#include "server/base/clock.h"
#include "server/base/log.h"
#include "server/ops/server_info.h"

namespace sandglass::server {

Operations::Operations() : usage_counter_(os::WallNow()) {}

FillFunction Operations::Recording(FillFunction fill) {
  return [this, fill = std::move(fill)](const JailKey& key,
                                        sandbox::FillFor fill_for)
             -> absl::StatusOr<std::unique_ptr<sandbox::Jail>> {
    const MonotonicTime began = Now();
    auto jail = fill(key, fill_for);
    const absl::Status judged = patience_.Judge(key.kind, jail.status(), Now());
    if (sandbox::IsZygoteStarting(judged)) return judged;
    metrics_.RecordFill(key, Since(began), judged.ok());
    if (!judged.ok()) return judged;
    return jail;
  };
}

void Operations::RecordRun(const Run& run, const RunEnd& end) {
  // Of a program that was only looked at nothing has run.
  if (IsLookAlone(run.job().target)) return;
  const RunOrigin& origin = run.origin();
  if (!end.status.ok()) {
    usage_counter_.RecordError(origin.caller, origin.language, end.status);
    return;
  }
  usage_counter_.RecordRun(origin.caller, *end.response);
  metrics_.RecordRun(*end.response);
}

void Operations::RecordRefused(const Identity& caller,
                               const absl::Status& status) {
  usage_counter_.RecordError(caller, "", status);
}

void Operations::RecordCommand(const Identity& owner,
                               const std::string& language,
                               const v1::ExecEnd& end) {
  usage_counter_.RecordCommand(owner, language, end);
  metrics_.RecordCommand(end);
}

void Operations::StartWatch(ReadinessWatchParts parts) {
  parts.readiness = &readiness_;
  watch_.emplace(std::move(parts));
  watch_->Start();
}

absl::Status Operations::Serve(const MetricsConfig& config,
                               StatusSources sources,
                               const CompileCache* compile_cache) {
  sources_ = std::move(sources);
  sources_.readiness = &readiness_;
  sources_.usage_counter = &usage_counter_;
  if (config.listen.empty()) return absl::OkStatus();
  absl::StatusOr<std::string> address =
      metrics_.Serve(config.listen, [sources = sources_, compile_cache] {
        Metrics::State state{MakeStatus(sources), std::nullopt};
        if (compile_cache != nullptr) {
          FillCompileCache(compile_cache->State(),
                           state.compile_cache.emplace());
        }
        return state;
      });
  if (!address.ok()) return address.status();
  if (IsOpenToOthers(config.listen)) {
    Log(LogLevel::kWarning, "metrics_open_to_others",
        {{"address", *address},
         {"note", std::string("anybody who can connect there reads them")}});
  }
  Log(LogLevel::kInfo, "metrics_on", {{"address", *address}});
  sources_.metrics_address = *std::move(address);
  return absl::OkStatus();
}

void Operations::StopWatch() {
  if (watch_.has_value()) watch_->Stop();
}

void Operations::Stop() {
  StopWatch();
  metrics_.Stop();
}

}  // namespace sandglass::server
