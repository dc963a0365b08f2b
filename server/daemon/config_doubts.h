#ifndef SANDGLASS_SERVER_DAEMON_CONFIG_DOUBTS_H_
#define SANDGLASS_SERVER_DAEMON_CONFIG_DOUBTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/daemon/config.h"

namespace sandglass::server {

// Returns one line for each setting with which a daemon can start, but which
// its operator hardly wants: a budget above the memory that there is, a floor
// that is never reached, a socket that everybody may use, metrics for
// everybody. Each line begins with the setting's name. `machine_memory_bytes`
// is MachineMemory.
std::vector<std::string> ConfigDoubts(const Config& config,
                                      uint64_t machine_memory_bytes);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_CONFIG_DOUBTS_H_
