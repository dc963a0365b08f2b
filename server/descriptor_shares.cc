#include "server/descriptor_shares.h"

#include <sys/resource.h>

#include <algorithm>

namespace sandglass::server {
namespace {

constexpr uint32_t kMostConnections = 1024;
// Commands of all sessions at once, and descriptors of each.
constexpr uint32_t kMostCommands = 1024;
constexpr uint32_t kCommandDescriptors = 10;

// Descriptors that are left when every run and every session has its share
// (about twenty).
uint64_t SpareDescriptors(const Config& config) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const uint64_t runs =
      256 + uint64_t{32} * (uint64_t{config.admission.max_running} +
                            config.sessions.max_sessions);
  return limit.rlim_cur > runs ? limit.rlim_cur - runs : 0;
}

}  // namespace

// At most half of them go to commands,
uint32_t MaxCommands(const Config& config) {
  return static_cast<uint32_t>(std::clamp<uint64_t>(
      SpareDescriptors(config) / 2 / kCommandDescriptors, 16, kMostCommands));
}

// and the rest to connections, two each.
uint32_t MaxConnections(const Config& config) {
  const uint64_t commands = uint64_t{MaxCommands(config)} * kCommandDescriptors;
  const uint64_t spare = SpareDescriptors(config);
  const uint64_t left = spare > commands ? spare - commands : 0;
  return static_cast<uint32_t>(
      std::clamp<uint64_t>(left / 2, 16, kMostConnections));
}

}  // namespace sandglass::server
