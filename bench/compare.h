#ifndef SANDGLASS_BENCH_COMPARE_H_
#define SANDGLASS_BENCH_COMPARE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/contenders.h"
#include "bench/report.h"

namespace sandglass::bench {

struct RestedOptions {
  // Of the bare commands and the daemon with its pool; of the others as many
  // for the trivial program, and a fourth of it for the rest.
  int runs = 0;
  // So many runs of one contender follow each other.
  int in_turn = 1;
  absl::Duration gap;     // before each run
  absl::Duration budget;  // a program ends then, after kMinRounds at least
};

// One program, one run at a time, round by round: a round runs each contender
// `in_turn` times, in an order drawn anew, so that drift of the machine and the
// neighbour's clean-up hit all alike. The first rounds don't count. Adds a row
// for each contender.
void CompareRested(const Program& program, const std::string& programs,
                   std::vector<Contender>& contenders,
                   const RestedOptions& options, Report& report);

struct LoopRoundsOptions {
  std::vector<int> in_flight;
  int rounds = 0;
  absl::Duration window;  // of one contender in one round; twice that above 8
};

// One program with so many runs in flight, each contender for a window in each
// round, in an order drawn anew. Adds a row for each of both.
void CompareLoops(const Program& program, const std::string& programs,
                  std::vector<Contender>& contenders,
                  const LoopRoundsOptions& options, Report& report);

// The programs of `folder` that others wrote and that end with 0 by themselves,
// at most `max` of each file and evenly spread over it, once each by the bare
// command and by the daemon with its pool. Adds two rows a file; a program that
// fails in one of the two counts in neither.
void CompareWorkloads(const std::string& folder, int max,
                      std::vector<Contender>& contenders, absl::Duration gap,
                      Report& report);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_COMPARE_H_
