#ifndef SANDGLASS_BENCH_CONTENDERS_H_
#define SANDGLASS_BENCH_CONTENDERS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/programs.h"
#include "bench/shared_root.h"
#include "bench/stats.h"

namespace sandglass::bench {

// One run of a program.
struct Sample {
  absl::Duration time;
  std::optional<absl::Duration> cpu;  // where a run's own can be told
  // What Sandglass tells besides.
  std::string served;
  // Whether all that its jails need had been made ahead.
  std::optional<bool> warm;
  NamedTimes phases;
  NamedTimes steps;
};

// A way to run programs.
struct Contender {
  std::string name;
  // Times one run; runs of the same worker come one after another, those of
  // several may be under way at once.
  std::function<absl::StatusOr<Sample>(const Program& program,
                                       const ProgramText& text, int worker)>
      run;
  // Of a daemon that serves all runs: its processor time since its start, or
  // nullopt when the host can't tell. Empty where a sample has its own.
  std::function<std::optional<absl::Duration>()> cpu_so_far;
  // Of such a daemon: how often a run found no jail that waited for it, since
  // its start, or nullopt when it doesn't answer.
  std::function<std::optional<uint64_t>()> misses_so_far;
  // Why it can't run anything; empty when it can.
  std::string missing;
};

struct ContenderOptions {
  SharedRoot root;
  // Of every contender's Python, "NAME=value", beside a user's.
  std::vector<std::string> python_env;
  // Beginning of the names of containers, images and control groups.
  std::string prefix;
  // A directory that other processes on the host see, too.
  std::string visible;
};

// All but Sandglass itself, the bare commands first. What isn't installed or
// doesn't work has `missing` set to a sentence.
std::vector<Contender> MakeContenders(const ContenderOptions& options);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_CONTENDERS_H_
