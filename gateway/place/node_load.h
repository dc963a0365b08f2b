#ifndef SANDGLASS_GATEWAY_PLACE_NODE_LOAD_H_
#define SANDGLASS_GATEWAY_PLACE_NODE_LOAD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "server/base/clock.h"

namespace sandglass::gateway {

// What a report may say at most. A report beyond these is refused as a whole,
// so that one broken node can neither fill the gateway's memory nor make a sum
// overflow.
inline constexpr uint64_t kMaxCount = 1'000'000;          // of slots, runs …
inline constexpr uint64_t kMaxBytes = uint64_t{1} << 46;  // 64 TiB
inline constexpr size_t kMaxLanguages = 64;
inline constexpr size_t kMaxProfiles = 256;
inline constexpr size_t kMaxImages = 64;
inline constexpr size_t kMaxLayersOfNode = 4096;
inline constexpr size_t kMaxTenantsOfNode = 4096;
inline constexpr size_t kMaxKeyBytes = 128;  // of a layer's key

// What one tenant has on one node, or on all of them together.
struct TenantLoad {
  uint64_t running = 0;  // runs
  uint64_t queued = 0;   // runs that wait there
  uint64_t sessions = 0;
  uint64_t session_memory = 0;  // bytes that its sessions may take

  friend bool operator==(const TenantLoad&, const TenantLoad&) = default;
};

using Names = std::set<std::string, std::less<>>;

// What a node can do. It changes seldom: with a reload, or an install.
struct NodeOffers {
  Names languages;  // ids, as policy::IsLanguageId has them
  Names profiles;   // names, as policy::IsPolicyName has them
  Names images;     // likewise
  Names layers;     // keys of the sets of libraries that are installed

  friend bool operator==(const NodeOffers&, const NodeOffers&) = default;
};

// What a node last told of itself. A plain value: whoever receives reports
// fills it in.
struct NodeLoad {
  std::string name;  // unique among nodes: [a-z0-9-]{1,32}
  // Drawn anew by each start of the node's daemon, at most 64 bytes. By it a
  // node that was started again is told from a second node of the same name.
  std::string instance;

  // Both are times of the gateway's own clock. The report came at `heard`. All
  // that the gateway sent to the node before `as_of` is counted in the report,
  // unless it had ended: where the gateway asks for reports, this is the time
  // of the question. Never later than `heard`.
  server::MonotonicTime heard;
  server::MonotonicTime as_of;

  bool draining = false;  // it wants no more work

  uint64_t max_running = 0;  // runs at once; 0: it takes no runs
  uint64_t running = 0;
  uint64_t max_queued = 0;  // runs that may wait there
  uint64_t queued = 0;
  uint64_t memory_budget = 0;    // bytes that runs may reserve together
  uint64_t memory_reserved = 0;  // bytes that they have reserved
  uint64_t max_sessions = 0;
  uint64_t sessions = 0;
  uint64_t session_memory_left = 0;  // bytes that sessions may still take

  NodeOffers offers;
  std::map<std::string, uint64_t, std::less<>> warm_jails;  // by language
  std::map<std::string, TenantLoad, std::less<>> tenants;
};

// [a-z0-9-]{1,32}.
bool IsNodeName(std::string_view text);

// INVALID_ARGUMENT says what of the report no node can mean: a name that is
// none, counts and sets beyond the bounds above, times in the wrong order.
absl::Status CheckNodeLoad(const NodeLoad& load);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PLACE_NODE_LOAD_H_
