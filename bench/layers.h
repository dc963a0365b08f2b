#ifndef SANDGLASS_BENCH_LAYERS_H_
#define SANDGLASS_BENCH_LAYERS_H_

#include <string>

#include "bench/report.h"

namespace sandglass::bench {

struct LayersOptions {
  std::string launcher;   // sandglass-bench-confine
  std::string directory;  // a place for a file that single calls open
  int rounds = 20;
};

// What the system call filter of the default policy and a jail's Landlock rules
// cost programs that make many system calls: every program under none, either
// and both of the layers, in an order drawn anew each round.
LayersReport MeasureLayers(const LayersOptions& options);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_LAYERS_H_
