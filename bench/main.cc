// What bench/run.sh starts when its daemons are there.

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "bench/bars.h"
#include "bench/burst.h"
#include "bench/command.h"
#include "bench/compare.h"
#include "bench/daemon_client.h"
#include "bench/daemon_groups.h"
#include "bench/layers.h"
#include "bench/libraries.h"
#include "bench/machine.h"
#include "bench/memory.h"
#include "bench/overload.h"
#include "bench/programs.h"
#include "bench/report.h"
#include "bench/rounds.h"
#include "bench/sessions.h"
#include "bench/shared_root.h"
#include "nlohmann/json.hpp"

namespace sandglass::bench {
namespace {

constexpr int kMissed = 1;
constexpr int kNothingMeasured = 2;
constexpr absl::Duration kWallLimit = absl::Milliseconds(200);

// One caller, two, as many as processors and twice that, then so many that runs
// wait for each other.
std::vector<int> AllInFlight(int processors) {
  const std::set<int> all = {
      1, 2, 8, 64, processors, 2 * processors, kCrowded * processors};
  return {all.begin(), all.end()};
}

// A daemon that the script started.
struct DaemonOptions {
  std::string address;
  std::string state_dir;
};

struct Options {
  DaemonOptions warm;
  DaemonOptions cold;
  DaemonOptions rules;
  CrowdOptions crowd;
  std::string crowd_state_dir;
  std::string directory;
  std::string visible;
  std::string prefix;
  std::string programs_directory;
  std::string launcher;  // sandglass-bench-confine
  std::string json;
  LibrariesOptions libraries_of;

  // What to measure; nothing of it chosen: everything but workloads.
  std::vector<std::string> programs;
  std::vector<int> in_flight;
  bool memory = false;
  bool filter_cost = false;
  bool sessions = false;
  bool libraries = false;
  bool overload = false;
  bool burst_chosen = false;
  BurstOptions burst;  // measured where there is an address
  std::string workloads;

  std::vector<std::string> contenders;  // empty: all
  int runs = 200;
  int loop_rounds = 2;
  int workload_programs = 20;
  int wall_runs = 20;
  int layers_rounds = 20;
  int session_rounds = 200;
  int gap_ms = 10;
  int in_turn = 50;
  double budget_s = 6;
  double window_s = 0.8;
  double overload_s = 60;
};

bool ChoseRows(const Options& options) {
  return !options.programs.empty() || !options.in_flight.empty() ||
         options.memory || options.filter_cost || options.sessions ||
         options.libraries || options.overload || options.burst_chosen ||
         !options.workloads.empty();
}

// A daemon as a contender.
struct Ours {
  std::unique_ptr<DaemonClient> client;
  std::unique_ptr<DaemonGroups> groups;
};

absl::StatusOr<Ours> OpenGroups(const DaemonOptions& options) {
  absl::StatusOr<DaemonGroups> groups = DaemonGroups::Open(options.state_dir);
  if (!groups.ok()) return groups.status();
  return Ours{.groups = std::make_unique<DaemonGroups>(*std::move(groups))};
}

absl::Status Connect(const DaemonOptions& options, Ours& ours) {
  absl::StatusOr<DaemonClient> client = DaemonClient::Connect(options.address);
  if (!client.ok()) return client.status();
  ours.client = std::make_unique<DaemonClient>(*std::move(client));
  return absl::OkStatus();
}

Contender AsContender(const char* name, const Ours& ours) {
  return {.name = name,
          .run = [client = ours.client.get()](
                     const Program& program, const ProgramText& text,
                     int) { return client->TimeRun(program, text); },
          .cpu_so_far = [groups = ours.groups.get()] { return groups->Cpu(); },
          .misses_so_far =
              [client = ours.client.get()]() -> std::optional<uint64_t> {
            const absl::StatusOr<uint64_t> misses = client->Misses();
            if (!misses.ok()) return std::nullopt;
            return *misses;
          }};
}

WallReport MeasureWallLimit(int runs, DaemonClient& client) {
  WallReport report = {.limit = kWallLimit};
  std::vector<absl::Duration> decided;
  std::vector<absl::Duration> ended;
  std::vector<absl::Duration> call;
  for (int run = 1; run <= runs; ++run) {
    const absl::StatusOr<WallSample> sample = client.TimeWallLimit(kWallLimit);
    if (!sample.ok()) {
      report.problem = std::string(sample.status().message());
      return report;
    }
    decided.push_back(sample->decided);
    ended.push_back(sample->ended);
    call.push_back(sample->call);
    Progress("wall limit", run, runs);
  }
  report.decided = Summarise(std::move(decided));
  report.ended = Summarise(std::move(ended));
  report.call = Summarise(std::move(call));
  return report;
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The programs to measure; those that can't run here are told in the report.
std::vector<const Program*> Usable(const std::vector<std::string>& names,
                                   const DaemonClient& client, Report& report) {
  std::vector<const Program*> usable;
  for (const Program& program : Programs()) {
    if (!names.empty() && !Has(names, "all") && !Has(names, program.name)) {
      continue;
    }
    report.bars.emplace_back(program.name, program.bar);
    std::string problem = client.WhyUnavailable(program.language);
    if (problem.empty()) problem = WhyNotInstalled(program);
    if (problem.empty()) {
      usable.push_back(&program);
      continue;
    }
    for (const char* contender : {kBare, kSandglassWarm}) {
      report.rows.push_back({.program = program.name,
                             .contender = contender,
                             .problem = problem});
    }
  }
  return usable;
}

void MeasurePrograms(const Options& options, const DaemonClient& client,
                     std::vector<Contender>& contenders, Report& report) {
  const bool all = !ChoseRows(options);
  const std::vector<const Program*> programs =
      Usable(all || !options.programs.empty() || options.in_flight.empty()
                 ? options.programs
                 : std::vector<std::string>{Programs().front().name},
             client, report);
  const RestedOptions rested = {.runs = options.runs,
                                .gap = absl::Milliseconds(options.gap_ms),
                                .budget = absl::Seconds(options.budget_s)};
  if (all || !options.programs.empty()) {
    for (const Program* program : programs) {
      RestedOptions each = rested;
      if (program == &Programs().front()) {
        each.budget = absl::Minutes(5);
        each.in_turn = options.in_turn;
      }
      CompareRested(*program, options.programs_directory, contenders, each,
                    report);
    }
  }
  if (!all && options.in_flight.empty()) return;
  const LoopRoundsOptions loops = {
      .in_flight = all ? AllInFlight(report.processors) : options.in_flight,
      .rounds = options.loop_rounds,
      .window = absl::Seconds(options.window_s)};
  for (const Program* program : programs) {
    if (all && program != &Programs().front()) continue;
    CompareLoops(*program, options.programs_directory, contenders, loops,
                 report);
  }
}

bool IsWanted(const Options& options, const Contender& contender) {
  return options.contenders.empty() || Has(options.contenders, contender.name);
}

absl::StatusOr<Report> Measure(const Options& options) {
  Report report;
  // ORDER: before the root hides control groups.
  absl::StatusOr<Ours> warm = OpenGroups(options.warm);
  if (!warm.ok()) return warm.status();
  absl::StatusOr<Ours> cold = OpenGroups(options.cold);
  if (!cold.ok()) return cold.status();
  absl::StatusOr<Ours> rules = OpenGroups(options.rules);
  if (!rules.ok()) return rules.status();
  Ours crowd;
  if (!options.crowd_state_dir.empty()) {
    absl::StatusOr<Ours> opened =
        OpenGroups({.state_dir = options.crowd_state_dir});
    if (!opened.ok()) return opened.status();
    crowd = *std::move(opened);
  }
  AdoptChildren();
  // ORDER: before gRPC starts threads.
  const absl::StatusOr<SharedRoot> root = BuildSharedRoot(options.directory);
  if (!root.ok()) return root.status();
  for (const auto& [daemon, ours] :
       {std::pair(&options.warm, &*warm), std::pair(&options.cold, &*cold),
        std::pair(&options.rules, &*rules)}) {
    const absl::Status connected = Connect(*daemon, *ours);
    if (!connected.ok()) return connected;
  }
  const absl::StatusOr<std::vector<std::string>> env =
      warm->client->ProgramEnvironment();
  if (!env.ok()) return env.status();

  const bool all = !ChoseRows(options);
  if (all || options.memory) {
    report.memory = MeasureIdle(*warm->client, *warm->groups);
    if (crowd.groups != nullptr) {
      report.memory->crowd = MeasureCrowd(options.crowd, *crowd.groups);
    }
  }
  report.machine = DescribeMachine();
  report.processors =
      static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const NamedFacts facts = warm->client->Facts();
  report.machine.insert(report.machine.end(), facts.begin(), facts.end());
  report.machine.emplace_back("control groups", root->cgroup_layout);
  report.machine.emplace_back("load from others", LoadFromOthers());

  const ContenderOptions containers = {.root = *root,
                                       .python_env = *env,
                                       .prefix = options.prefix,
                                       .visible = options.visible};
  std::vector<Contender> contenders = MakeContenders(containers);
  contenders.push_back(AsContender(kSandglassCold, *cold));
  contenders.push_back(AsContender(kSandglassWarm, *warm));
  contenders.push_back(AsContender(kSandglassRules, *rules));
  for (const Contender& contender : contenders) {
    if (contender.missing.empty()) continue;
    report.machine.emplace_back(absl::StrCat("without ", contender.name),
                                contender.missing);
  }
  std::erase_if(contenders, [&options](const Contender& contender) {
    return !contender.missing.empty() || !IsWanted(options, contender);
  });
  const CpuTicks start = ReadCpuTicks();
  if (all || !options.programs.empty() || !options.in_flight.empty()) {
    MeasurePrograms(options, *warm->client, contenders, report);
  }
  if (!options.workloads.empty()) {
    CompareWorkloads(options.workloads, options.workload_programs, contenders,
                     absl::Milliseconds(options.gap_ms), report);
  }
  if (all || options.filter_cost) {
    report.layers = MeasureLayers({.launcher = options.launcher,
                                   .directory = options.visible,
                                   .rounds = options.layers_rounds});
  }
  if (all || options.sessions) {
    report.sessions =
        MeasureSessions({.address = options.warm.address,
                         .containers = &containers,
                         .groups = warm->groups.get(),
                         .rounds = options.session_rounds,
                         .gap = absl::Milliseconds(options.gap_ms)});
  }
  if (all || options.libraries) {
    LibrariesOptions libraries = options.libraries_of;
    libraries.directory = options.visible;
    libraries.gap = absl::Milliseconds(options.gap_ms);
    report.libraries = MeasureLibraries(libraries);
  }
  if (all || options.overload) {
    report.overload =
        MeasureOverload({.address = options.warm.address,
                         .time = absl::Seconds(options.overload_s)});
  }
  if (!options.burst.address.empty()) {
    report.burst = MeasureBurst(options.burst);
  }
  if (all) report.wall = MeasureWallLimit(options.wall_runs, *warm->client);
  report.machine.emplace_back("stolen by the host during the run",
                              StolenBetween(start, ReadCpuTicks()));
  report.machine.emplace_back(
      "run",
      absl::StrFormat("%d ms of rest before each rested run; of the first "
                      "program %d runs of a contender in turn",
                      options.gap_ms, options.in_turn));
  return report;
}

int Fail(absl::string_view why) {
  std::cerr << "sandglass-bench: " << why << "\n";
  return kNothingMeasured;
}

// Returns the exit code.
int Tell(const absl::StatusOr<Report>& report, const std::string& json_file) {
  if (!report.ok()) return Fail(report.status().message());
  std::cout << ToMarkdown(*report) << std::flush;
  if (!json_file.empty()) {
    std::ofstream file(json_file);
    file << ToJson(*report).dump(2) << "\n";
    file.close();
    if (!file) return Fail("cannot write " + json_file);
  }
  return AreMet(Judge(*report)).value_or(false) ? 0 : kMissed;
}

std::string IsProgram(const std::string& name) {
  if (name == "all" || FindProgram(name) != nullptr) return "";
  return absl::StrCat(
      "there is no program '", name, "'; there are ",
      absl::StrJoin(Programs(), ", ",
                    [](std::string* out, const Program& program) {
                      absl::StrAppend(out, program.name);
                    }));
}

// What the user chose, passed on by the script.
void AddChoices(CLI::App& app, Options& options) {
  const CLI::Range positive(1, 100'000);
  app.add_option("--programs", options.programs, "One at a time, rested")
      ->delimiter(',')
      ->check(IsProgram);
  app.add_option("--in-flight", options.in_flight, "Runs under way, a list")
      ->delimiter(',')
      ->check(CLI::Range(1, 256));
  app.add_flag("--memory", options.memory, "What idle jails hold");
  app.add_flag("--filter-cost", options.filter_cost,
               "Programs under seccomp and Landlock, and without");
  app.add_flag("--sessions", options.sessions,
               "Sessions, beside containers that are kept");
  app.add_flag("--libraries", options.libraries,
               "Sets of libraries, and programs with a network");
  app.add_flag("--overload", options.overload,
               "Calls at ten times the rate that can be served");
  app.add_flag("--burst", options.burst_chosen,
               "Many sessions that are asked for at once");
  app.add_option("--workloads", options.workloads, "A folder of programs")
      ->check(CLI::ExistingDirectory);
  app.add_option("--workload-programs", options.workload_programs,
                 "Most of each file of it; 0: all");
  app.add_option("--contenders", options.contenders, "A list; else all")
      ->delimiter(',')
      ->check(CLI::IsMember({kBare, kBubblewrap, kCrun, kRunc, kDocker,
                             kSandglassCold, kSandglassWarm, kSandglassRules}));
  app.add_option("-n,--runs", options.runs, "Rounds of rested runs")
      ->check(positive);
  app.add_option("--loop-rounds", options.loop_rounds, "Of runs in flight")
      ->check(positive);
  app.add_option("--window", options.window_s, "Seconds of one of these");
  app.add_option("--budget", options.budget_s, "Seconds of one program");
  app.add_option("--wall-runs", options.wall_runs, "Of the wall limit")
      ->check(positive);
  app.add_option("--layers-rounds", options.layers_rounds, "Of filter cost")
      ->check(positive);
  app.add_option("--session-rounds", options.session_rounds, "Of sessions")
      ->check(positive);
  app.add_option("--library-rounds", options.libraries_of.rounds,
                 "Of installs, and of bytes through the proxy")
      ->check(positive);
  app.add_option("--library-uses", options.libraries_of.uses,
                 "Of each set that is there")
      ->check(positive);
  app.add_option("--overload-seconds", options.overload_s, "Of overload");
  app.add_option("--gap", options.gap_ms, "Rest before a run, milliseconds")
      ->check(CLI::Range(0, 10'000));
  app.add_option("--in-turn", options.in_turn,
                 "Rested runs of a contender in turn, of the first program")
      ->check(CLI::Range(1, 100));
  app.add_option("--json", options.json, "Write the figures here too");
}

// What the script made.
void AddPlaces(CLI::App& app, Options& options) {
  app.add_option("--address", options.warm.address)->required();
  app.add_option("--state-dir", options.warm.state_dir)->required();
  app.add_option("--cold-address", options.cold.address)->required();
  app.add_option("--cold-state-dir", options.cold.state_dir)->required();
  app.add_option("--rules-address", options.rules.address)->required();
  app.add_option("--rules-state-dir", options.rules.state_dir)->required();
  app.add_option("--crowd-address", options.crowd.address);
  app.add_option("--crowd-state-dir", options.crowd_state_dir);
  app.add_option("--crowd-pid", options.crowd.daemon);
  app.add_option("--crowd-jails", options.crowd.wanted);
  app.add_option("--libraries-address", options.libraries_of.address);
  app.add_option("--registry-port", options.libraries_of.registry_port);
  app.add_option("--bytes-port", options.libraries_of.bytes_port);
  app.add_option("--registry-versions", options.libraries_of.versions);
  app.add_option("--registry-scripts", options.libraries_of.scripts);
  app.add_option("--burst-address", options.burst.address);
  app.add_option("--burst-sessions", options.burst.sessions);
  app.add_option("--directory", options.directory,
                 "An empty directory to mount things in")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--visible", options.visible,
                 "A directory that other processes see too")
      ->required()
      ->check(CLI::ExistingDirectory);
  app.add_option("--prefix", options.prefix,
                 "Beginning of names of containers and control groups")
      ->required();
  app.add_option("--launcher", options.launcher)
      ->required()
      ->check(CLI::ExistingFile);
  app.add_option("--programs-directory", options.programs_directory)
      ->required()
      ->check(CLI::ExistingDirectory);
}

}  // namespace
}  // namespace sandglass::bench

int main(int argc, char** argv) {
  sandglass::bench::Options options;
  CLI::App app(
      "Times programs through the daemon and beside it. Exit code 0 when "
      "Sandglass keeps what it promises of these times.",
      "sandglass-bench");
  sandglass::bench::AddPlaces(app, options);
  sandglass::bench::AddChoices(app, options);
  CLI11_PARSE(app, argc, argv);
  options.crowd.programs = options.programs_directory;
  return sandglass::bench::Tell(sandglass::bench::Measure(options),
                                options.json);
}
