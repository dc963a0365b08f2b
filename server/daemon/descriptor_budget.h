#ifndef SANDGLASS_SERVER_DAEMON_DESCRIPTOR_BUDGET_H_
#define SANDGLASS_SERVER_DAEMON_DESCRIPTOR_BUDGET_H_

#include <cstdint>
#include <string>

#include "server/daemon/config.h"

namespace sandglass::server {

// How many commands of sessions may be there at once, and how many connections,
// so that the process's limit of open files (RLIMIT_NOFILE) is enough for them
// beside what runs and sessions need.
uint32_t MaxCommands(const Config& config);
uint32_t MaxConnections(const Config& config);

// Files that the processes of a daemon have open at most, when all that the
// configuration allows is there at once.
struct DescriptorNeeds {
  uint64_t limit = 0;    // what each may have
  uint64_t server = 0;   // without commands and connections
  uint64_t spawner = 0;  // of each
  // What there is room for: sessions, at most sessions.max and its reserve; and
  // of what the server leaves, commands of sessions and connections, a few in
  // any case.
  uint32_t sessions = 0;
  uint32_t commands = 0;
  uint32_t connections = 0;
};

// `limit`: of each process, as the daemon raises it: RLIMIT_NOFILE's hard one.
DescriptorNeeds FindDescriptorNeeds(const Config& config, uint64_t limit);
uint64_t HardDescriptorLimit();

// The same in words, one line without its end; and whether all of it fits,
// where it doesn't, with what happens and what can be done.
std::string TellDescriptorNeeds(const DescriptorNeeds& needs);
std::string WhyTooFewDescriptors(const Config& config,
                                 const DescriptorNeeds& needs);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_DESCRIPTOR_BUDGET_H_
