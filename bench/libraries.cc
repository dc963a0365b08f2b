#include "bench/libraries.h"

#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/command.h"
#include "bench/libraries_client.h"
#include "bench/rounds.h"
#include "sandbox/os/files.h"

namespace sandglass::bench {
namespace {

constexpr char kPython[] = "python";
constexpr char kPrint[] = "print(1)";
// Until the pool keeps jails of a set's, too.
constexpr int kLearningUses = 20;
// Small sets are so quick that each round has room for some.
constexpr int kQuickInstalls = 3;
constexpr absl::Duration kInstallTime = absl::Minutes(5);

// Two ways to do the same in turns, and what each turn took.
struct Turns {
  std::vector<absl::Duration> base;
  std::vector<absl::Duration> ours;
  size_t base_warm = 0;
  size_t warm = 0;

  LibrariesRow Row(const std::string& name, std::optional<double> ratio) const {
    return {.name = name,
            .base = Summarise(base),
            .ours = Summarise(ours),
            .ratio = ratio,
            .base_warm = base_warm,
            .warm = warm};
  }
};

struct Set {
  const char* name;
  const char* language;
  const char* program;
  const char* recipe;    // that installs it, below policy/data/languages
  const char* registry;  // below its address
  const char* before;    // a version
  const char* after;
  int times = 1;  // in each round

  std::string Version(int version) const {
    return absl::StrCat(before, version, after);
  }
};

constexpr Set kSets[] = {
    {kSmallSet, kPython, kPrint, "python/libraries.sh", "simple/",
     "bench-small==", "", kQuickInstalls},
    {kLargeSet, kPython, kPrint, "python/libraries.sh", "simple/",
     "bench-large==", ""},
    {kNpmSet, "javascript", "console.log(1)", "javascript/libraries.sh", "",
     "bench-npm@", ".0.0", kQuickInstalls}};

class Measurement {
 public:
  Measurement(const LibrariesOptions& options, LibrariesReport& report)
      : options_(options), report_(report), client_(options.address) {}

  absl::Status Run() {
    for (const Set& set : kSets) {
      if (absl::Status s = Installs(set); !s.ok()) return s;
    }
    for (const Set& set : kSets) {
      if (set.language != std::string(kPython)) continue;
      if (absl::Status s = Uses(set); !s.ok()) return s;
    }
    if (absl::Status s = Imports(); !s.ok()) return s;
    for (const char* mode : {"tunnel", "http"}) {
      if (absl::Status s = Transfers(mode); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

 private:
  std::string Bare() const { return options_.directory + "/install"; }

  // The recipe's own commands, as an ordinary process's. What it leaves stays
  // for now: to remove thousands of files slows down whoever comes next.
  absl::StatusOr<absl::Duration> BareInstall(const Set& set, int version) {
    const std::string place = absl::StrCat(Bare(), "/", version);
    std::error_code ignored;
    std::filesystem::create_directories(place + "/layer", ignored);
    const absl::StatusOr<CommandResult> result = RunCommand(
        {.argv = {"/bin/sh",
                  absl::StrCat(SANDGLASS_SOURCE_DIR "/policy/data/languages/",
                               set.recipe),
                  set.Version(version)},
         .env = {"PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8",
                 absl::StrCat("HOME=", place), absl::StrCat("TMPDIR=", place),
                 // What the host has set up isn't measured.
                 "PIP_CONFIG_FILE=/dev/null",
                 absl::StrCat("REGISTRY=http://127.0.0.2:",
                              options_.registry_port, "/", set.registry)},
         .directory = place,
         .time_limit = kInstallTime});
    if (!result.ok()) return result.status();
    return result->time;
  }

  absl::Status Installs(const Set& set) {
    Turns whole;
    Turns alone;
    const int all = options_.rounds * set.times;
    if (all + 1 > options_.versions) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are ", options_.versions, " versions of ",
                       set.name, ", and ", all + 1, " are needed"));
    }
    const absl::Cleanup remove = [this] {
      std::error_code ignored;
      std::filesystem::remove_all(Bare(), ignored);
    };
    // The first of each doesn't count.
    for (int i = 0; i <= all; ++i) {
      const absl::StatusOr<absl::Duration> bare = BareInstall(set, i + 1);
      if (!bare.ok()) return bare.status();
      const absl::StatusOr<LibrariesRun> run =
          client_.Run({.language = set.language,
                       .code = set.program,
                       .libraries = {set.Version(i + 1)}});
      if (!run.ok()) return run.status();
      if (!run->installed) {
        return absl::UnknownError(
            absl::StrCat(set.Version(i + 1), " was there already"));
      }
      Progress(absl::StrCat("installs of ", set.name), i, all);
      if (i == 0) continue;
      whole.base.push_back(*bare);
      whole.ours.push_back(run->time);
      alone.base.push_back(*bare);
      alone.ours.push_back(run->wait);
    }
    report_.installs.push_back(
        whole.Row(set.name, MedianRatio(whole.ours, whole.base)));
    report_.parts.push_back(
        alone.Row(absl::StrCat(set.name, ", the run left out"),
                  MedianRatio(alone.ours, alone.base)));
    return absl::OkStatus();
  }

  // Programs in turns, each after a rest, the one that is first changing.
  absl::StatusOr<Turns> InTurns(const std::string& what,
                                const LibrariesProgram& base,
                                const LibrariesProgram& ours) {
    Turns turns;
    for (int i = 1; i <= options_.uses + kLearningUses; ++i) {
      for (const bool is_ours : {i % 2 == 0, i % 2 != 0}) {
        absl::SleepFor(options_.gap);
        const absl::StatusOr<LibrariesRun> run =
            client_.Run(is_ours ? ours : base);
        if (!run.ok()) return run.status();
        if (i <= kLearningUses) continue;
        (is_ours ? turns.ours : turns.base).push_back(run->time);
        if (run->warm) ++(is_ours ? turns.warm : turns.base_warm);
      }
      Progress(what, i, options_.uses + kLearningUses);
    }
    return turns;
  }

  absl::Status Compare(const std::string& name, const LibrariesProgram& base,
                       const LibrariesProgram& ours,
                       std::vector<LibrariesRow>& rows) {
    const absl::StatusOr<Turns> turns = InTurns(name, base, ours);
    if (!turns.ok()) return turns.status();
    LibrariesRow row = turns->Row(name, std::nullopt);
    row.ratio = absl::FDivDuration(row.ours.p50, row.base.p50);
    rows.push_back(std::move(row));
    return absl::OkStatus();
  }

  absl::Status Uses(const Set& set) {
    const LibrariesProgram base = {.language = kPython, .code = kPrint};
    LibrariesProgram ours = base;
    ours.libraries = {set.Version(1)};
    return Compare(set.name, base, ours, report_.uses);
  }

  // The same modules from the layer and from the request.
  absl::Status Imports() {
    LibrariesProgram base = {.language = kPython,
                             .code = "import bench_small\nprint(1)"};
    LibrariesProgram ours = base;
    ours.libraries = {kSets[0].Version(1)};
    for (const char* file :
         {"bench_small/__init__.py", "bench_small/part_1.py"}) {
      LibrariesProgram show = ours;
      show.code = absl::StrCat("print(open('/opt/libraries/", file,
                               "').read(), end='')");
      const absl::StatusOr<LibrariesRun> run = client_.Run(show);
      if (!run.ok()) return run.status();
      base.files.emplace_back(file, run->output);
    }
    return Compare(kImports, base, ours, report_.parts);
  }

  static absl::StatusOr<absl::Duration> Seconds(const std::string& text) {
    double seconds = 0;
    if (!absl::SimpleAtod(text, &seconds) || seconds <= 0) {
      return absl::UnknownError(
          absl::StrCat("fetch.py printed '", text, "' and no seconds"));
    }
    return absl::Seconds(seconds);
  }

  absl::Status Transfers(const std::string& mode) {
    const std::string script = options_.scripts + "/fetch.py";
    const absl::StatusOr<std::string> code = os::ReadWholeFile(script);
    if (!code.ok()) return code.status();
    const std::string port = absl::StrCat(options_.bytes_port);
    Turns turns;
    for (int i = 0; i <= options_.rounds; ++i) {
      const absl::StatusOr<CommandResult> bare =
          RunCommand({.argv = {"/usr/bin/python3", script, port, mode},
                      .env = {"LANG=C.UTF-8"}});
      if (!bare.ok()) return bare.status();
      const absl::StatusOr<LibrariesRun> run =
          client_.Run({.language = kPython,
                       .code = *code,
                       .args = {port, mode},
                       .profile = "web"});
      if (!run.ok()) return run.status();
      const absl::StatusOr<absl::Duration> direct = Seconds(bare->output);
      if (!direct.ok()) return direct.status();
      const absl::StatusOr<absl::Duration> proxied = Seconds(run->output);
      if (!proxied.ok()) return proxied.status();
      Progress(absl::StrCat("bytes by ", mode), i, options_.rounds);
      if (i == 0) continue;
      turns.base.push_back(*direct);
      turns.ours.push_back(*proxied);
    }
    report_.transfers.push_back(turns.Row(mode == "http" ? kByHttp : kByTunnel,
                                          MedianRatio(turns.base, turns.ours)));
    return absl::OkStatus();
  }

  const LibrariesOptions& options_;
  LibrariesReport& report_;
  LibrariesClient client_;
};

}  // namespace

LibrariesReport MeasureLibraries(const LibrariesOptions& options) {
  LibrariesReport report;
  const absl::Status status = Measurement(options, report).Run();
  if (!status.ok()) report.problem = std::string(status.message());
  return report;
}

}  // namespace sandglass::bench
