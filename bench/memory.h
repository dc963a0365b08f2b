#ifndef SANDGLASS_BENCH_MEMORY_H_
#define SANDGLASS_BENCH_MEMORY_H_

#include <sys/types.h>

#include <string>

#include "bench/daemon_client.h"
#include "bench/daemon_groups.h"
#include "bench/report.h"

namespace sandglass::bench {

// Idle jails of a daemon whose pool is full or gets so within seconds.
MemoryReport MeasureIdle(DaemonClient& client, const DaemonGroups& groups);

struct CrowdOptions {
  size_t wanted = 0;  // idle jails of each kind, as the daemon was configured
  pid_t daemon = -1;
  std::string address;
  std::string programs;  // bench/programs
};

// Waits for a daemon's idle jails, runs a program, ends the daemon with SIGTERM
// and looks at what is left.
Crowd MeasureCrowd(const CrowdOptions& options, const DaemonGroups& groups);

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_MEMORY_H_
