#ifndef SANDGLASS_GATEWAY_PLACE_RENDEZVOUS_H_
#define SANDGLASS_GATEWAY_PLACE_RENDEZVOUS_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace sandglass::gateway {

// Highest-random-weight hashing (Thaler and Ravishankar, IEEE/ACM Transactions
// on Networking 1998): each node has a weight for each request id, drawn by a
// hash of both, and the nodes' order for a request is that of their weights,
// the highest first. Whoever knows the same nodes finds the same order, and
// when a node leaves, only the requests whose first node it was get another.
// A new node becomes the first of its share of the requests and moves no other.
//
// The hashes are part of what replicas of different versions have to agree on:
// they never change.

// Half of the hash. Compute it once for each node.
uint64_t NodeHash(std::string_view node);
// The other half. `secret` is the same for all replicas of a gateway; without
// it callers could choose request ids that all have the same first node. It may
// be empty. The three are told apart wherever one ends and the next begins.
uint64_t RequestHash(std::string_view secret, std::string_view tenant,
                     std::string_view request_id);

// The weight of a node for a request.
inline uint64_t RendezvousWeight(uint64_t node_hash, uint64_t request_hash) {
  // MurmurHash3's finalizer, by Austin Appleby.
  uint64_t mixed = node_hash ^ request_hash;
  mixed ^= mixed >> 33;
  mixed *= 0xff51afd7ed558ccd;
  mixed ^= mixed >> 33;
  mixed *= 0xc4ceb9fe1a85ec53;
  return mixed ^ (mixed >> 33);
}

struct RendezvousNode {
  std::string_view name;
  uint64_t hash = 0;  // NodeHash(name)
};

// Whether `one` comes before `other` in the order for a request: by weight, and
// of equal weights by name.
inline bool ComesBefore(const RendezvousNode& one, const RendezvousNode& other,
                        uint64_t request_hash) {
  const uint64_t of_one = RendezvousWeight(one.hash, request_hash);
  const uint64_t of_other = RendezvousWeight(other.hash, request_hash);
  return of_one != of_other ? of_one > of_other : one.name < other.name;
}

// The first two of the order, in one pass and without sorting: some nanoseconds
// for each node. Names are views of those in `nodes`, and empty where there are
// fewer.
struct FirstTwo {
  std::string_view first;
  std::string_view second;
};
FirstTwo FindFirstTwo(const std::vector<RendezvousNode>& nodes,
                      uint64_t request_hash);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PLACE_RENDEZVOUS_H_
