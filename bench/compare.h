#ifndef SANDGLASS_BENCH_COMPARE_H_
#define SANDGLASS_BENCH_COMPARE_H_

#include <string>

#include "absl/status/statusor.h"
#include "bench/report.h"

namespace sandglass::bench {

struct CompareOptions {
  std::string address;       // of the daemon
  std::string cold_address;  // of one with a pool.floor of 0
  std::string directory;     // an empty one, to mount things in
  std::string prefix;        // of names of containers and control groups
  int rounds = 0;
  int wall_runs = 0;
  int gap_ms = 0;
};

// Times a cold Python run through the daemon, bare, and in other jails.
// Preconditions: root; single-threaded.
absl::StatusOr<Report> CompareJails(const CompareOptions& options);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_COMPARE_H_
