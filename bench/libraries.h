#ifndef SANDGLASS_BENCH_LIBRARIES_H_
#define SANDGLASS_BENCH_LIBRARIES_H_

#include <string>

#include "absl/time/time.h"
#include "bench/report.h"

namespace sandglass::bench {

struct LibrariesOptions {
  std::string address;    // of a daemon with the profiles in bench/registry
  int registry_port = 0;  // of bench/registry/registry.py
  int bytes_port = 0;
  int versions = 0;       // that each of its packages has
  std::string directory;  // on the disk that the daemon keeps layers on
  std::string scripts;    // bench/registry
  int rounds = 5;         // of installs and transfers
  int uses = 1000;
  absl::Duration gap;  // rest before each use
};

// What sets of libraries take to be installed, beside the tool bare; what their
// use takes, beside programs without; and how fast bytes come through the
// proxy, beside the same client without. Each in turns.
LibrariesReport MeasureLibraries(const LibrariesOptions& options);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_LIBRARIES_H_
