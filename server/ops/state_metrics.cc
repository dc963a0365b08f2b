#include "server/ops/state_metrics.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"
#include "prometheus/client_metric.h"
#include "prometheus/metric_type.h"
#include "server/base/proto_time.h"

namespace sandglass::server {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

class FamilyList {
 public:
  // Begins a family; the values that Add is given next go into it.
  void Begin(MetricType type, std::string_view name, std::string_view help) {
    MetricFamily& family = families_.emplace_back();
    family.name = std::string(name);
    family.help = std::string(help);
    family.type = type;
  }
  template <typename Number>
  void Add(Labels labels, Number value) {
    ClientMetric& metric = families_.back().metric.emplace_back();
    metric.label = std::move(labels);
    metric.gauge.value = metric.counter.value = static_cast<double>(value);
  }
  template <typename Number>
  void Gauge(std::string_view name, std::string_view help, Number value) {
    Begin(MetricType::Gauge, name, help);
    Add({}, value);
  }
  template <typename Number>
  void Counter(std::string_view name, std::string_view help, Number value) {
    Begin(MetricType::Counter, name, help);
    Add({}, value);
  }
  std::vector<MetricFamily> Collect() { return std::move(families_); }

 private:
  std::vector<MetricFamily> families_;
};

// Sums over all sizes of jails: the size can't be a label, since a request may
// choose it.
struct PoolSum {
  uint64_t idle = 0;
  uint64_t target = 0;
};

void AddPool(const v1::GetStatusResponse& status, FamilyList& list) {
  std::map<std::pair<std::string, std::string>, PoolSum> sums;
  for (const v1::PoolKind& kind : status.pool()) {
    PoolSum& sum = sums[{kind.kind(), kind.profile()}];
    sum.idle += kind.idle();
    sum.target += kind.target();
  }
  const auto add = [&](std::string_view name, std::string_view help,
                       uint64_t PoolSum::*member) {
    list.Begin(MetricType::Gauge, name, help);
    for (const auto& [key, sum] : sums) {
      list.Add({{"kind", key.first}, {"profile", key.second}}, sum.*member);
    }
  };
  add("sandglass_pool_ready", "Jails that wait for runs.", &PoolSum::idle);
  add("sandglass_pool_target", "Jails that are wanted to wait for runs.",
      &PoolSum::target);
}

void AddYards(const v1::GetStatusResponse& status, FamilyList& list) {
  list.Begin(MetricType::Gauge, "sandglass_jails",
             "Jails by state: in use or ready, spare, or ending.");
  for (const v1::Yard& yard : status.yards()) {
    list.Add({{"yard", yard.kind()}, {"state", "live"}}, yard.jails());
    list.Add({{"yard", yard.kind()}, {"state", "spare"}}, yard.spare_jails());
    list.Add({{"yard", yard.kind()}, {"state", "ending"}}, yard.ending_jails());
  }
  const auto add = [&](MetricType type, std::string_view name,
                       std::string_view help, const auto& value) {
    list.Begin(type, name, help);
    for (const v1::Yard& yard : status.yards()) {
      list.Add({{"yard", yard.kind()}}, std::invoke(value, yard));
    }
  };
  using Type = MetricType;
  add(Type::Gauge, "sandglass_jail_longest_ending_seconds",
      "Of the jails that are over and not yet removed, the one that takes "
      "longest.",
      [](const v1::Yard& yard) {
        return absl::ToDoubleSeconds(FromProto(yard.longest_ending()));
      });
  add(Type::Gauge, "sandglass_yard_cgroups", "Control groups of jails.",
      &v1::Yard::cgroups);
  add(Type::Gauge, "sandglass_yard_stray_cgroups",
      "Control groups that belong to no jail.", &v1::Yard::stray_cgroups);
  add(Type::Gauge, "sandglass_yard_processes",
      "Processes in the yard, the spawner and zygotes among them.",
      &v1::Yard::processes);
  add(Type::Gauge, "sandglass_yard_open_fds", "Descriptors of the spawner.",
      &v1::Yard::open_fds);
  add(Type::Gauge, "sandglass_yard_mounts", "Mounts that the spawner sees.",
      &v1::Yard::mounts);
  add(Type::Counter, "sandglass_zygote_starts_total",
      "Zygotes that were started.", &v1::Yard::zygote_starts);
  add(Type::Counter, "sandglass_zygote_deaths_total",
      "Zygotes that ended without being told to.", &v1::Yard::zygote_deaths);
  add(Type::Counter, "sandglass_yard_setup_failures_total",
      "Times that a part of a jail could not be made ahead.",
      &v1::Yard::setup_failures);
  add(Type::Gauge, "sandglass_yard_failing",
      "1 while parts of jails can't be made ahead.",
      [](const v1::Yard& yard) { return yard.failing().empty() ? 0 : 1; });
}

void AddAdmission(const v1::GetStatusResponse& status, FamilyList& list) {
  const v1::Admission& admission = status.admission();
  list.Begin(MetricType::Gauge, "sandglass_runs_current",
             "Runs that go on or wait.");
  list.Add({{"state", "running"}}, admission.running());
  list.Add({{"state", "queued"}}, admission.queued());
  list.Begin(MetricType::Gauge, "sandglass_runs_max",
             "How many there may be of them.");
  list.Add({{"state", "running"}}, admission.max_running());
  list.Add({{"state", "queued"}}, admission.max_queued());
  list.Gauge("sandglass_runs_reserve",
             "How many may go on beyond that, of callers that have few.",
             admission.reserve());
  list.Gauge("sandglass_memory_reserved_bytes",
             "Memory that runs and sessions may take together, by their "
             "limits.",
             admission.memory_reserved_bytes());
  list.Gauge("sandglass_memory_budget_bytes", "The most of that.",
             admission.memory_budget_bytes());
  list.Gauge("sandglass_memory_reserve_bytes",
             "How much beyond that, of callers that have no run going on.",
             admission.memory_reserve_bytes());
  list.Gauge("sandglass_sessions", "Sessions that there are.",
             status.sessions());
  list.Gauge("sandglass_commands_current", "Commands in sessions that go on.",
             status.commands());
}

void AddConditions(const v1::GetStatusResponse& status, FamilyList& list) {
  list.Gauge("sandglass_ready",
             "1 while all conditions hold that readiness needs.",
             status.ready());
  list.Gauge("sandglass_draining", "1 while it ends.", status.draining());
  list.Begin(MetricType::Gauge, "sandglass_condition",
             "1 while the condition holds.");
  for (const v1::Condition& condition : status.conditions()) {
    list.Add({{"condition", condition.name()}}, condition.holds());
  }
  list.Begin(MetricType::Counter, "sandglass_errors_total",
             "Requests for runs that were answered with an error.");
  for (const v1::ErrorCount& count : status.errors()) {
    list.Add({{"reason", count.reason()}, {"code", count.code()}},
             count.calls());
  }
  list.Begin(MetricType::Counter, "sandglass_log_lines_total",
             "Lines of the log that tell of something wrong.");
  list.Add({{"level", "warning"}}, status.warnings());
  list.Add({{"level", "error"}}, status.log_errors());
}

void AddAudit(const v1::AuditState& audit, FamilyList& list) {
  list.Gauge("sandglass_audit_healthy", "1 while lines can be written.",
             audit.failure().empty());
  list.Counter("sandglass_audit_lines_total", "Lines that were written.",
               audit.lines());
  list.Counter("sandglass_audit_lost_lines_total",
               "Lines that could not be written.", audit.lost_lines());
}

void AddCompileCache(const v1::CompileCache& cache, FamilyList& list) {
  list.Begin(MetricType::Counter, "sandglass_compile_cache_lookups_total",
             "Runs of compiled languages, by what the cache had.");
  list.Add({{"result", "hit"}}, cache.hits());
  list.Add({{"result", "miss"}}, cache.misses());
  list.Add({{"result", "not_cacheable"}}, cache.not_cacheable());
  list.Gauge("sandglass_compile_cache_bytes", "Bytes on the disk.",
             cache.bytes());
  list.Gauge("sandglass_compile_cache_max_bytes", "The most of them.",
             cache.max_bytes());
  list.Counter("sandglass_compile_cache_evicted_total",
               "Results that were removed for lack of room.", cache.evicted());
  list.Counter("sandglass_compile_cache_write_failures_total",
               "Results that could not be written.", cache.write_failures());
}

// Uses the names of Prometheus's own client libraries.
void AddProcess(const v1::GetStatusResponse& status, FamilyList& list) {
  list.Begin(MetricType::Gauge, "sandglass_build_info", "Always 1.");
  list.Add({{"version", status.version()}}, 1);
  // Computed once, so that it doesn't change with the clock: a reader that sees
  // it change takes the daemon for another one.
  static const double began = static_cast<double>(status.time().seconds()) +
                              status.time().nanos() / 1e9 -
                              absl::ToDoubleSeconds(FromProto(status.uptime()));
  list.Gauge("process_start_time_seconds",
             "When the daemon began, in seconds since 1970.", began);
  list.Gauge("process_resident_memory_bytes", "Of the daemon's own process.",
             status.resident_bytes());
  list.Gauge("process_open_fds", "Of the daemon's own process.",
             status.open_fds());
  list.Gauge("process_max_fds", "The most of them.", status.max_open_fds());
  list.Gauge("process_threads", "Of the daemon's own process.",
             status.threads());
}

}  // namespace

std::vector<MetricFamily> StateFamilies(
    const v1::GetStatusResponse& status,
    const std::optional<v1::CompileCache>& compile_cache) {
  FamilyList list;
  AddProcess(status, list);
  AddConditions(status, list);
  AddAdmission(status, list);
  AddPool(status, list);
  AddYards(status, list);
  if (status.has_audit()) AddAudit(status.audit(), list);
  if (compile_cache.has_value()) AddCompileCache(*compile_cache, list);
  return list.Collect();
}

}  // namespace sandglass::server
