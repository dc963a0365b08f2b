#ifndef SANDGLASS_SANDBOX_WIRE_NETWORK_USE_H_
#define SANDGLASS_SANDBOX_WIRE_NETWORK_USE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sandglass::sandbox {

// A host that a program tried to reach and was not allowed to.
struct NetworkRefusal {
  std::string target;  // "host:port", as far as it is known
  std::string words;
  uint64_t count = 0;
};

// What a jail has used of the network.
struct NetworkUse {
  uint64_t connections = 0;  // that were accepted
  uint64_t refused = 0;
  uint64_t bytes_up = 0;    // sent by the program, including what was refused
  uint64_t bytes_down = 0;  // sent to the program
  // The first refusals, each target once.
  std::vector<NetworkRefusal> refusals;
};

// What was added since `before`, an earlier reading of the same jail.
NetworkUse Since(const NetworkUse& before, const NetworkUse& now);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_NETWORK_USE_H_
