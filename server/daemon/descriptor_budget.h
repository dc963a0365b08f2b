#ifndef SANDGLASS_SERVER_DAEMON_DESCRIPTOR_BUDGET_H_
#define SANDGLASS_SERVER_DAEMON_DESCRIPTOR_BUDGET_H_

#include <cstdint>
#include <string>

#include "server/daemon/config.h"

namespace sandglass::server {

// The most files that the processes of a daemon have open when everything that
// the configuration allows is there at the same time.
struct DescriptorNeeds {
  uint64_t limit = 0;    // how many each process may have
  uint64_t server = 0;   // without commands and connections
  uint64_t spawner = 0;  // for each spawner
  // How many there is room for at the same time: sessions, at most sessions.max
  // and its reserve; and, out of what the server leaves, commands of sessions
  // and connections, of which there are a few in any case.
  uint32_t sessions = 0;
  uint32_t commands = 0;
  uint32_t connections = 0;
};

// `limit` is that of each process as the daemon raises it: the hard limit of
// RLIMIT_NOFILE.
DescriptorNeeds FindDescriptorNeeds(const Config& config, uint64_t limit);
uint64_t HardDescriptorLimit();

// The first returns the needs in words, as one line without a newline. The
// second is empty when everything fits; otherwise it says what happens and what
// can be done.
std::string DescribeDescriptorNeeds(const DescriptorNeeds& needs);
std::string WhyTooFewDescriptors(const Config& config,
                                 const DescriptorNeeds& needs);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_DESCRIPTOR_BUDGET_H_
