#include "server/ops/status.h"

#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>

#include "sandbox/os/clocks.h"
#include "server/base/log.h"
#include "server/base/proto_time.h"
#include "server/base/version.h"
#include "server/ops/server_info.h"

namespace sandglass::server {
namespace {

void FillYard(const sandbox::YardStock& stock, v1::Yard& yard) {
  yard.set_kind(stock.kind);
  yard.set_jails(stock.jails);
  yard.set_spare_jails(stock.spares);
  yard.set_ending_jails(stock.ending);
  *yard.mutable_longest_ending() = ToProto(stock.longest_ending);
  yard.set_cgroups(stock.groups);
  yard.set_stray_cgroups(stock.stray_groups);
  yard.set_processes(stock.processes);
  yard.set_open_fds(stock.open_descriptors);
  yard.set_mounts(stock.mounts);
  yard.set_zygote_starts(stock.zygote_starts);
  yard.set_zygote_deaths(stock.zygote_deaths);
  yard.set_setup_failures(stock.setup_failures);
  yard.set_failing(stock.failing);
}

void FillAudit(const AuditLog& log, AuditFailure on_failure,
               v1::AuditState& audit) {
  const AuditLog::State state = log.state();
  audit.set_lines(state.written);
  audit.set_lost_lines(state.lost);
  audit.set_failure(std::string(state.failure.message()));
  audit.set_when_unwritable(on_failure == AuditFailure::kRefuse ? "refuse"
                                                                : "run");
}

}  // namespace

void FillProcess(v1::GetStatusResponse& response) {
  std::ifstream status("/proc/self/status");
  uint64_t number = 0;
  for (std::string key; status >> key;) {
    if (key == "VmRSS:" && status >> number) {
      response.set_resident_bytes(number * 1024);
    } else if (key == "Threads:" && status >> number) {
      response.set_threads(static_cast<uint32_t>(number));
    }
    status.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  std::error_code error;
  std::filesystem::directory_iterator fds("/proc/self/fd", error);
  uint32_t open_fds = 0;
  for (const std::filesystem::directory_iterator end; !error && fds != end;
       fds.increment(error)) {
    ++open_fds;
  }
  if (open_fds > 0) --open_fds;  // the iterator's own descriptor
  response.set_open_fds(open_fds);
  rlimit max{};
  if (::getrlimit(RLIMIT_NOFILE, &max) == 0) {
    response.set_max_open_fds(static_cast<uint32_t>(
        std::min<rlim_t>(max.rlim_cur, std::numeric_limits<uint32_t>::max())));
  }
}

v1::GetStatusResponse MakeStatus(const StatusSources& sources) {
  v1::GetStatusResponse response;
  response.set_version(kVersion);
  *response.mutable_time() = ToProto(os::WallNow());
  *response.mutable_uptime() = ToProto(Since(sources.started));
  response.set_ready(sources.readiness->Ready());
  response.set_draining(sources.readiness->Stopped());
  *response.mutable_conditions() = sources.readiness->Conditions();
  FillAdmission(*sources.admission, *response.mutable_admission());
  for (const PoolKeyState& state : sources.daemon->PoolStates()) {
    FillPoolKind(state, *response.add_pool());
  }
  *response.mutable_runs() = sources.usage_counter->Runs();
  *response.mutable_errors() = sources.usage_counter->Errors();
  response.set_sessions(static_cast<uint32_t>(sources.daemon->Sessions()));
  response.set_commands(sources.daemon->Commands());
  for (const sandbox::YardStock& stock : sources.daemon->YardStocks()) {
    FillYard(stock, *response.add_yards());
  }
  if (sources.audit != nullptr) {
    FillAudit(*sources.audit, sources.on_audit_failure,
              *response.mutable_audit());
  }
  FillProcess(response);
  const LogCounts counts = CountsOfLog();
  response.set_warnings(counts.warnings);
  response.set_log_errors(counts.errors);
  response.set_metrics_address(sources.metrics_address);
  return response;
}

}  // namespace sandglass::server
