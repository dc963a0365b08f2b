#ifndef SANDGLASS_BENCH_REPORT_H_
#define SANDGLASS_BENCH_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "bench/burst_report.h"
#include "bench/overload_report.h"
#include "bench/stats.h"
#include "bench/tables.h"
#include "nlohmann/json_fwd.hpp"

namespace sandglass::bench {

inline constexpr char kBare[] = "bare";
inline constexpr char kBubblewrap[] = "bubblewrap";
inline constexpr char kCrun[] = "crun";
inline constexpr char kRunc[] = "runc";
inline constexpr char kDocker[] = "docker";
// With all that the daemon makes ahead, and with a pool.floor of 0.
inline constexpr char kSandglassWarm[] = "sandglass warm";
inline constexpr char kSandglassCold[] = "sandglass cold";
// As warm, and each program is looked at by rules, its output for secrets, and
// each run is in an audit log.
inline constexpr char kSandglassRules[] = "sandglass rules";

// What is promised of a program, as parts of the bare command's figures in the
// same run: p50 is at most `median` times bare's p50, and `extra`; p99 at most
// `tail` times its p99.
struct Bar {
  std::optional<double> median;
  std::optional<double> tail;
  absl::Duration extra;
};

// One program by one contender.
struct Row {
  std::string program;
  std::string contender;
  // Runs under way at any time, the next one starting as soon as one ends;
  // 0: one at a time, with a rest before each.
  int in_flight = 0;
  Summary time;
  std::optional<double> runs_per_second;
  // Per run; of the daemon, its share in making jails and giving them back
  // included.
  std::optional<absl::Duration> cpu;
  std::optional<absl::Duration> client_cpu;  // the measuring program's own
  size_t failed = 0;
  // What served the runs, for example "python-lean, warm"; Sandglass only.
  std::map<std::string, size_t> served;
  // Runs for which all had been made ahead, a compiler's jail included; rested
  // rows of Sandglass only.
  std::optional<size_t> warm;
  NamedSummaries phases;
  NamedSummaries steps;
  // Why there are no figures, or the first failure.
  std::string problem;
};

// Idle jails of one kind in which an interpreter waits; bytes of each, in the
// mean.
struct IdleJails {
  std::string kind;
  size_t count = 0;
  double pss = 0;
  double kernel = 0;
  double tmpfs = 0;
  double total() const { return pss + kernel + tmpfs; }
};

// A daemon with many idle jails.
struct Crowd {
  size_t wanted = 0;
  std::vector<IdleJails> jails;
  uint64_t group_bytes = 0;  // of the daemon's whole control group
  // What the host had more of after the daemon's end than before.
  int64_t freed_bytes = 0;
  bool runs = false;  // a program ran meanwhile, in a jail that waited
  size_t left = 0;    // processes after the daemon's end
  std::string problem;
};

struct MemoryReport {
  std::vector<IdleJails> idle;  // of the daemon with the default pool
  std::string problem;
  std::optional<Crowd> crowd;
};

struct WallReport {
  absl::Duration limit;
  Summary decided;
  Summary ended;
  Summary call;
  std::string problem;  // why there are no figures
};

inline constexpr char kNoLayer[] = "none";
inline constexpr char kSeccompLayer[] = "seccomp";
inline constexpr char kLandlockLayer[] = "landlock";
inline constexpr char kBothLayers[] = "both";
// Of the programs below, the one that the bar is about.
inline constexpr char kLayersJudged[] = "python, walk and read a library";

// A program under layers of a jail and nothing else of it.
struct LayersRow {
  std::string program;
  std::string layers;
  Summary time;
  Summary cpu;
};

struct LayersReport {
  std::vector<LayersRow> programs;
  // What single calls take, by layers.
  std::vector<std::pair<std::string, NamedSummaries>> calls;
  std::string problem;
};

inline constexpr char kWarmRun[] = "warm run, stateless";
inline constexpr char kCreateAndRun[] = "create and first run";
inline constexpr char kKernelRun[] = "run in the kernel";
inline constexpr char kExecTrue[] = "execute true";
inline constexpr char kWriteSmall[] = "write 1 KiB";
inline constexpr char kReadSmall[] = "read 1 KiB";
inline constexpr char kForkSmall[] = "fork with 1 KiB";
inline constexpr char kWriteLarge[] = "write 10 MiB";
inline constexpr char kReadLarge[] = "read 10 MiB";
inline constexpr char kForkLarge[] = "fork with 10 MiB";
inline constexpr char kDelete[] = "delete";
inline constexpr char kSandglassSession[] = "sandglass";

// One of these by a session, or the same by a container's runtime.
struct SessionStep {
  std::string name;
  std::string contender;
  Summary time;
  // The mean of a step and the rest after it.
  std::optional<absl::Duration> cpu;
};

// A session with a Python kernel, step by step.
struct SessionsReport {
  std::vector<SessionStep> steps;
  size_t idle = 0;        // sessions that were kept, one run in each
  double idle_bytes = 0;  // of each
  std::string problem;
};

inline constexpr char kSmallSet[] = "Python, 10 files";
inline constexpr char kLargeSet[] = "Python, 2000 files, 20 MB";
inline constexpr char kNpmSet[] = "npm, 300 files";
inline constexpr char kImports[] =
    "import from a layer by import of a request's file";
inline constexpr char kByTunnel[] = "through a tunnel";
inline constexpr char kByHttp[] = "by plain HTTP";

// The same in two ways, in turns.
struct LibrariesRow {
  std::string name;
  Summary base;  // without Sandglass, or without libraries
  Summary ours;
  std::optional<double> ratio;
  // Runs of each whose jail was made ahead.
  size_t base_warm = 0;
  size_t warm = 0;
};

struct LibrariesReport {
  // First use of a set by the tool's own time bare; the ratio is the median of
  // all turns'.
  std::vector<LibrariesRow> installs;
  // A program that names libraries which are there by one that names none;
  // the ratio is that of the p50.
  std::vector<LibrariesRow> uses;
  // What no promise is about.
  std::vector<LibrariesRow> parts;
  // A GiB fetched by a program, straight and by the proxy; the ratio is that of
  // the bytes a second, the median of all turns'.
  std::vector<LibrariesRow> transfers;
  std::string problem;  // why there is no more
};

// All that one run of the benchmark found; what wasn't asked for is absent.
struct Report {
  NamedFacts machine;
  int processors = 1;  // that the daemon and the measuring program may use
  std::vector<Row> rows;
  std::vector<std::pair<std::string, Bar>> bars;  // by program
  std::optional<MemoryReport> memory;
  std::optional<WallReport> wall;
  std::optional<LayersReport> layers;
  std::optional<SessionsReport> sessions;
  std::optional<LibrariesReport> libraries;
  std::optional<OverloadReport> overload;
  std::optional<BurstReport> burst;
};

// For people, in Markdown.
std::string ToMarkdown(const Report& report);
// The same figures for programs; bench/README.md describes it.
nlohmann::ordered_json ToJson(const Report& report);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_REPORT_H_
