#include "server/ops/metrics.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "policy/seccomp/syscall_names.h"
#include "prometheus/counter.h"
#include "prometheus/family.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"
#include "server/audit/audit_fields.h"
#include "server/base/proto_time.h"
#include "server/base/strings.h"
#include "server/base/tcp_socket.h"
#include "server/metrics/by_name.h"
#include "server/metrics/call_metrics.h"
#include "server/ops/state_metrics.h"

namespace sandglass::server {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Histogram;

// The limit that a run with this outcome reached; empty when it is none.
std::string LimitOf(v1::Outcome outcome) {
  constexpr std::pair<v1::Outcome, const char*> kLimits[] = {
      {v1::OUTCOME_TIMEOUT, "wall_time"},
      {v1::OUTCOME_CPU_LIMIT, "cpu_time"},
      {v1::OUTCOME_MEMORY_LIMIT, "memory"},
      {v1::OUTCOME_OUTPUT_LIMIT, "output"},
      {v1::OUTCOME_DISK_LIMIT, "disk"},
      {v1::OUTCOME_FILE_SIZE_LIMIT, "file_size"},
      {v1::OUTCOME_PIDS_LIMIT, "processes"}};
  for (const auto& [reached, limit] : kLimits) {
    if (reached == outcome) return limit;
  }
  return "";
}

double Seconds(const google::protobuf::Duration& duration) {
  return absl::ToDoubleSeconds(FromProto(duration));
}

// Only numbers that have a name become labels, since a program can make up
// numbers without end.
std::string CallLabel(const sandbox::RefusedCall& call) {
  std::string name = policy::SyscallName(call.architecture, call.number);
  const bool has_name =
      !absl::StrContains(name, ':') && !absl::StartsWith(name, "number-");
  return has_name ? name : "other";
}

std::string BoolText(bool value) { return value ? "true" : "false"; }

// Adds to the counter that a family has for these labels.
void Count(Family<Counter>& family, const prometheus::Labels& labels,
           uint64_t amount = 1) {
  family.Add(labels).Increment(static_cast<double>(amount));
}

}  // namespace

// The registry's own look-up of labels allocates memory, so what a run needs is
// looked up only once for each language.
struct Metrics::Families {
  struct OfLanguage {
    std::array<Histogram*, 8> phases;
    std::array<Histogram*, 2> total;  // cold, warm
    Histogram* memory;
    Counter* cpu;
  };
  static constexpr std::array<const char*, 8> kPhases = {
      "queue",   "acquire", "stage_in", "analysis",
      "compile", "run",     "drain",    "stage_out"};

  const Histogram::BucketBoundaries run_buckets = RunBuckets();
  // A single step of making a jail takes microseconds.
  const Histogram::BucketBoundaries step_buckets = {
      0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 1};
  const Histogram::BucketBoundaries memory_buckets = {
      1 << 20,   4 << 20, 16 << 20,       64 << 20,
      256 << 20, 1 << 30, 4.0 * (1 << 30)};
  std::shared_ptr<prometheus::Registry> registry =
      std::make_shared<prometheus::Registry>();
  Family<Counter>& runs =
      NewCounter("sandglass_runs_total", "Runs that were answered.");
  Family<Counter>& limit_hits = NewCounter(
      "sandglass_limit_hits_total", "Runs and commands that a limit ended.");
  Family<Counter>& rules =
      NewCounter("sandglass_findings_total",
                 "What profiles' rules found in programs' texts.");
  Family<Counter>& refused_callers = NewCounter(
      "sandglass_refused_callers_total",
      "Calls whose caller wasn't known or might not make them, by why.");
  Family<Counter>& redactions = NewCounter(
      "sandglass_redactions_total", "Replacements in outputs, by pattern.");
  Family<Counter>& output =
      NewCounter("sandglass_output_bytes_total",
                 "Bytes that programs wrote to standard output and error.");
  Family<Counter>& left_out =
      NewCounter("sandglass_output_truncated_bytes_total",
                 "Those of them that answers leave out.");
  Family<Counter>& network_bytes =
      NewCounter("sandglass_network_bytes_total",
                 "Bytes that programs exchanged through the egress proxy.");
  Family<Counter>& network_refused =
      NewCounter("sandglass_network_refused_total",
                 "Connections and requests that the egress proxy refused.");
  Family<Counter>& denials =
      NewCounter("sandglass_seccomp_denials_total",
                 "System calls of programs that the filter refused; counted "
                 "only with --trace-syscalls.");
  Family<Counter>& commands = NewCounter(
      "sandglass_commands_total", "Commands in sessions that have ended.");
  Family<Counter>& cpu =
      NewCounter("sandglass_run_cpu_seconds_total", "Processor time of runs.");
  Family<Histogram>& total = NewHistogram(
      "sandglass_run_duration_seconds",
      "From a request's acceptance to its answer; warm: the jail stood ready.");
  Family<Histogram>& phase = NewHistogram(
      "sandglass_run_phase_duration_seconds", "The same, phase by phase.");
  Family<Histogram>& memory =
      NewHistogram("sandglass_run_peak_memory_bytes",
                   "The most memory that a run's control group had.");
  Family<Histogram>& step =
      NewHistogram("sandglass_jail_setup_step_duration_seconds",
                   "Steps of the making of jails that runs had.");
  Family<Histogram>& fill =
      NewHistogram("sandglass_pool_fill_duration_seconds",
                   "How long it took the pool to make a jail ready.");
  Family<Counter>& fill_failures =
      NewCounter("sandglass_pool_fill_failures_total",
                 "Jails that the pool could not make.");
  CallMetrics calls{*registry};
  ByName<OfLanguage> languages;
  ByName<Histogram*> steps;

  Family<Counter>& NewCounter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(*registry);
  }
  Family<Histogram>& NewHistogram(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(
        *registry);
  }
  OfLanguage& Of(const std::string& language) {
    return languages.Get(language, [&] {
      OfLanguage made{};
      for (size_t i = 0; i < kPhases.size(); ++i) {
        made.phases[i] = &phase.Add(
            {{"language", language}, {"phase", kPhases[i]}}, run_buckets);
      }
      for (const bool warm : {false, true}) {
        made.total[warm] = &total.Add(
            {{"language", language}, {"warm", BoolText(warm)}}, run_buckets);
      }
      made.memory = &memory.Add({{"language", language}}, memory_buckets);
      made.cpu = &cpu.Add({{"language", language}});
      return made;
    });
  }
  // The parts of RecordRun.
  void NoteTimings(const v1::RunCodeResponse& response) {
    const v1::PhaseTimings& timings = response.timings();
    const OfLanguage& of = Of(response.language());
    const std::array<const google::protobuf::Duration*, 8> phases = {
        &timings.queue(),    &timings.acquire(),  &timings.stage_in(),
        &timings.analysis(), &timings.compile(),  &timings.run(),
        &timings.drain(),    &timings.stage_out()};
    const bool ran = timings.has_run();
    for (size_t i = 0; i < phases.size(); ++i) {
      const double seconds = Seconds(*phases[i]);
      // A phase that a run didn't have is not counted; every run was queued,
      // however.
      if (seconds > 0 || (i == 0 && ran)) of.phases[i]->Observe(seconds);
    }
    of.total[timings.warm()]->Observe(Seconds(timings.total()));
    for (const v1::StepTiming& done : timings.setup_steps()) {
      steps
          .Get(done.step(),
               [&] {
                 return &step.Add({{"step", done.step()}}, step_buckets);
               })
          ->Observe(Seconds(done.duration()));
    }
  }
  void NoteUsage(const v1::RunCodeResponse& response) {
    const OfLanguage& of = Of(response.language());
    const v1::Usage& usage = response.usage();
    // A run whose program never started used no memory.
    if (usage.peak_memory_bytes() > 0) {
      of.memory->Observe(static_cast<double>(usage.peak_memory_bytes()));
    }
    of.cpu->Increment(Seconds(usage.cpu_user_time()) +
                      Seconds(usage.cpu_system_time()) +
                      Seconds(response.compile().usage().cpu_user_time()) +
                      Seconds(response.compile().usage().cpu_system_time()));
  }
  void NoteOutput(const v1::RunCodeResponse& response) {
    for (const auto& [stream, written] :
         {std::pair("stdout", &response.stdout()),
          std::pair("stderr", &response.stderr())}) {
      if (written->total_bytes() == 0) continue;
      Count(output, {{"stream", stream}}, written->total_bytes());
      if (written->total_bytes() > written->data().size()) {
        Count(left_out, {{"stream", stream}},
              written->total_bytes() - written->data().size());
      }
    }
    for (const v1::Redaction& redaction : response.redactions()) {
      Count(redactions, {{"pattern", redaction.name()}}, redaction.count());
    }
  }
  void NoteFindings(const v1::RunCodeResponse& response) {
    for (const v1::Finding& finding : response.findings()) {
      Count(rules, {{"severity", absl::AsciiStrToLower(absl::StripPrefix(
                                     v1::Severity_Name(finding.severity()),
                                     "SEVERITY_"))}});
    }
  }
  void NoteNetwork(const v1::NetworkUse& network) {
    Count(network_bytes, {{"direction", "sent"}}, network.sent_bytes());
    Count(network_bytes, {{"direction", "received"}}, network.received_bytes());
    Count(network_refused, {}, network.refused());
  }
  // Counts a run or command if it reached a limit.
  void NoteLimit(v1::Outcome outcome, const std::string& language) {
    if (const std::string limit = LimitOf(outcome); !limit.empty()) {
      Count(limit_hits, {{"limit", limit}, {"language", language}});
    }
  }
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {}
Metrics::~Metrics() { Stop(); }

void Metrics::RecordRun(const v1::RunCodeResponse& response) {
  Families& all = *families_;
  Count(all.runs, {{"language", response.language()},
                   {"outcome", AuditOutcome(response.outcome())},
                   {"warm", BoolText(response.timings().warm())}});
  all.NoteLimit(response.outcome(), response.language());
  all.NoteTimings(response);
  all.NoteUsage(response);
  all.NoteOutput(response);
  all.NoteFindings(response);
  if (response.has_network()) all.NoteNetwork(response.network());
}

void Metrics::RecordCommand(const v1::ExecEnd& end) {
  Count(families_->commands, {{"outcome", AuditOutcome(end.outcome())}});
  families_->NoteLimit(end.outcome(), "");
}

void Metrics::RecordRefusedCalls(const std::string& language,
                                 const sandbox::RefusedCalls& calls) {
  const auto add = [&](const std::string& call, uint64_t count) {
    Count(families_->denials, {{"language", language}, {"call", call}}, count);
  };
  for (const sandbox::RefusedCall& call : calls.calls) {
    add(CallLabel(call), call.count);
  }
  if (calls.others > 0) add("other", calls.others);
}

void Metrics::RecordFill(const JailKey& key, absl::Duration took, bool made) {
  const prometheus::Labels labels = {{"kind", key.kind}};
  if (made) {
    families_->fill.Add(labels, families_->run_buckets)
        .Observe(absl::ToDoubleSeconds(took));
  } else {
    Count(families_->fill_failures, labels);
  }
}

void Metrics::RecordCall(std::string_view method, int code,
                         absl::Duration took) {
  families_->calls.Record(method, code, took);
}

absl::StatusOr<std::string> Metrics::Serve(const std::string& address,
                                           AskState ask) {
  absl::StatusOr<os::Fd> listener = ListenOnTcp("metrics.listen", address);
  if (!listener.ok()) return listener.status();
  const int port = TcpPortOf(*listener);
  absl::StatusOr<std::unique_ptr<MetricsServer>> server = MetricsServer::Start(
      *std::move(listener),
      [this, ask = std::move(ask)] { return Text(ask()); });
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  return absl::StrCat(address.substr(0, address.rfind(':')), ":", port);
}

void Metrics::NoteRefusedCaller(const char* reason) {
  Count(families_->refused_callers, {{"reason", reason}});
}

void Metrics::Stop() { server_.reset(); }

std::string Metrics::Text(const State& state) const {
  std::vector<prometheus::MetricFamily> families =
      families_->registry->Collect();
  std::vector<prometheus::MetricFamily> more =
      StateFamilies(state.status, state.compile_cache);
  families.insert(families.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace sandglass::server
