#ifndef SANDGLASS_SANDBOX_WIRE_NETWORK_USE_H_
#define SANDGLASS_SANDBOX_WIRE_NETWORK_USE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sandglass::sandbox {

// What a program wanted to reach and was not let.
struct NetworkRefusal {
  std::string target;  // "host:port", as far as it is known
  std::string words;
  uint64_t count = 0;
};

// What a jail has taken of the network.
struct NetworkUse {
  uint64_t connections = 0;  // that were taken
  uint64_t refused = 0;
  uint64_t bytes_up = 0;    // that the program sent, also what was refused
  uint64_t bytes_down = 0;  // that it was sent
  // The first ones, each once.
  std::vector<NetworkRefusal> refusals;
};

// What came since `before`, which was told earlier of the same jail.
NetworkUse Since(const NetworkUse& before, const NetworkUse& now);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_NETWORK_USE_H_
