#ifndef SANDGLASS_BENCH_SESSIONS_H_
#define SANDGLASS_BENCH_SESSIONS_H_

#include <string>

#include "absl/time/time.h"
#include "bench/contenders.h"
#include "bench/daemon_groups.h"
#include "bench/report.h"

namespace sandglass::bench {

struct SessionsOptions {
  std::string address;  // of a daemon with the default configuration
  const ContenderOptions* containers = nullptr;  // for those of crun and runc
  const DaemonGroups* groups = nullptr;
  int rounds = 200;
  absl::Duration gap;  // rest before each step
  size_t idle = 50;    // sessions whose memory is taken
};

// What a session with a Python kernel takes to be made, used and kept, beside a
// stateless warm run of the same program and containers of crun and runc, in
// turns.
SessionsReport MeasureSessions(const SessionsOptions& options);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_SESSIONS_H_
