#include "bench/layers.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "bench/command.h"
#include "bench/rounds.h"

namespace sandglass::bench {
namespace {

constexpr int kSeed = 1;
constexpr char kLibrary[] = "/usr/lib/python3.*/";

struct LayersProgram {
  const char* name;
  const char* interpreter;
  std::string text;
};

const std::vector<LayersProgram>& LayersPrograms() {
  // The first is what the bar is about.
  static const auto& programs = *new std::vector<LayersProgram>{
      {kLayersJudged, "/usr/bin/python3", R"(
import os
total = 0
for _ in range(2):
    for directory, _, names in os.walk(os.path.dirname(os.__file__)):
        for name in names:
            path = os.path.join(directory, name)
            os.stat(path)
            with open(path, 'rb') as file:
                total += len(file.read())
print(total > 0)
)"},
      {"sqlite, 2000 commits", "/usr/bin/python3", R"(
import os, sqlite3, tempfile
with tempfile.TemporaryDirectory(dir='/dev/shm') as directory:
    base = sqlite3.connect(os.path.join(directory, 'base'),
                           isolation_level=None)
    base.execute('create table t (a, b)')
    for i in range(2000):
        base.execute('insert into t values (?, ?)', (i, i))
    print(base.execute('select count(*) from t').fetchone()[0] == 2000)
)"},
      {"sh, 200 commands", "/bin/sh",
       "for i in $(seq 200); do /bin/true; done; echo True"},
      {"grep -r of a library", "/bin/sh",
       absl::StrCat("grep -rc import ", kLibrary, " | wc -l")},
      {"tar of a library", "/bin/sh",
       absl::StrCat("tar -cf - ", kLibrary, " 2>/dev/null | wc -c")},
      {"find, twice /usr/lib", "/bin/sh",
       "for i in 1 2; do find /usr/lib -type f; done | wc -l"},
      {"dd, 64 bytes at a time into a pipe", "/bin/sh",
       "dd if=/dev/zero bs=64 count=300000 2>/dev/null | wc -c"},
  };
  return programs;
}

constexpr const char* kLayers[] = {kNoLayer, kSeccompLayer, kLandlockLayer,
                                   kBothLayers};

absl::StatusOr<CommandResult> RunUnder(const LayersOptions& options,
                                       const char* layers,
                                       std::vector<std::string> command) {
  command.insert(command.begin(), {options.launcher, layers});
  return RunCommand({.argv = std::move(command),
                     .env = {"PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"}});
}

// All of them see the machine in the same states.
template <typename Visit>
absl::Status InRounds(int rounds, const std::string& what, const Visit& visit) {
  std::vector<const char*> order(std::begin(kLayers), std::end(kLayers));
  std::mt19937 random(kSeed);
  for (int round = -1; round < rounds; ++round) {
    std::shuffle(order.begin(), order.end(), random);
    for (const char* layers : order) {
      absl::Status status = visit(layers, round >= 0);
      if (!status.ok()) return status;
    }
    if (round >= 0) Progress(what, round + 1, rounds);
  }
  return absl::OkStatus();
}

absl::Status MeasureProgram(const LayersOptions& options,
                            const LayersProgram& program,
                            LayersReport& report) {
  std::map<std::string, std::vector<absl::Duration>> times;
  std::map<std::string, std::vector<absl::Duration>> cpu;
  std::string output;
  absl::Status status = InRounds(
      // The bar's margin is less than what other processes on a machine change.
      absl::string_view(program.name) == kLayersJudged ? 3 * options.rounds
                                                       : options.rounds,
      absl::StrCat("layers, ", program.name),
      [&](const char* layers, bool counts) {
        const absl::StatusOr<CommandResult> run = RunUnder(
            options, layers, {program.interpreter, "-c", program.text});
        if (!run.ok()) return run.status();
        if (output.empty()) output = run->output;
        // A layer that refuses something makes a program do less.
        if (run->output != output) {
          return absl::UnknownError(absl::StrCat(
              "printed '", run->output, "' under ", layers, ", not '", output));
        }
        if (counts) {
          times[layers].push_back(run->time);
          cpu[layers].push_back(run->cpu);
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  for (const char* layers : kLayers) {
    report.programs.push_back({.program = program.name,
                               .layers = layers,
                               .time = Summarise(times[layers]),
                               .cpu = Summarise(cpu[layers])});
  }
  return absl::OkStatus();
}

absl::Status MeasureCalls(const LayersOptions& options, LayersReport& report) {
  std::string file = options.directory;
  // As deep as a module of a library is.
  for (const char* name : {"/a", "/b", "/c"}) {
    absl::StrAppend(&file, name);
    if (::mkdir(file.c_str(), 0755) != 0) {
      return absl::ErrnoToStatus(errno, file);
    }
  }
  absl::StrAppend(&file, "/file");
  std::ofstream(file) << "a line\n";
  std::map<std::string, NamedSamples> samples;
  absl::Status status = InRounds(
      options.rounds, "layers, single calls",
      [&](const char* layers, bool counts) {
        const absl::StatusOr<CommandResult> run =
            RunUnder(options, layers, {"calls", file});
        if (!run.ok()) return run.status();
        for (const absl::string_view line :
             absl::StrSplit(run->output, '\n', absl::SkipEmpty())) {
          const std::pair<std::string, std::string> words =
              absl::StrSplit(line, ' ');
          double nanos = 0;
          if (!absl::SimpleAtod(words.second, &nanos)) {
            return absl::UnknownError(absl::StrCat("no figure: ", line));
          }
          if (counts) {
            samples[layers].Add({{words.first, nanos * absl::Nanoseconds(1)}});
          }
        }
        return absl::OkStatus();
      });
  for (const char* layers : kLayers) {
    report.calls.emplace_back(layers, samples[layers].Summaries());
  }
  return status;
}

}  // namespace

LayersReport MeasureLayers(const LayersOptions& options) {
  LayersReport report;
  for (const LayersProgram& program : LayersPrograms()) {
    const absl::Status status = MeasureProgram(options, program, report);
    if (!status.ok()) {
      absl::StrAppend(&report.problem, program.name, ": ", status.message(),
                      "\n");
    }
  }
  if (const absl::Status status = MeasureCalls(options, report); !status.ok()) {
    absl::StrAppend(&report.problem, "single calls: ", status.message(), "\n");
  }
  return report;
}

}  // namespace sandglass::bench
