#ifndef SANDGLASS_SERVER_DESCRIPTOR_SHARES_H_
#define SANDGLASS_SERVER_DESCRIPTOR_SHARES_H_

#include <cstdint>

#include "server/config.h"

namespace sandglass::server {

// How many commands of sessions may be there at once, and how many connections,
// so that the process's limit of open files (RLIMIT_NOFILE) is enough for them
// beside what runs and sessions need.
uint32_t MaxCommands(const Config& config);
uint32_t MaxConnections(const Config& config);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DESCRIPTOR_SHARES_H_
