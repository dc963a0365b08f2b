#include "gateway/place/rendezvous.h"

#include <cstddef>
#include <string>

#include "server/base/digest.h"

namespace sandglass::gateway {
namespace {

// The first eight bytes as a number, the first byte the highest.
uint64_t FirstBytes(const std::string& digest) {
  uint64_t number = 0;
  for (size_t i = 0; i < sizeof(number); ++i) {
    number = number << 8 | static_cast<unsigned char>(digest[i]);
  }
  return number;
}

}  // namespace

uint64_t NodeHash(std::string_view node) {
  return FirstBytes(server::Sha256(node));
}

uint64_t RequestHash(std::string_view secret, std::string_view tenant,
                     std::string_view request_id) {
  server::Digest digest;
  digest.Add(secret);
  digest.Add(tenant);
  digest.Add(request_id);
  return FirstBytes(digest.Finish());
}

FirstTwo FindFirstTwo(const std::vector<RendezvousNode>& nodes,
                      uint64_t request_hash) {
  const RendezvousNode* first = nullptr;
  const RendezvousNode* second = nullptr;
  for (const RendezvousNode& node : nodes) {
    if (first == nullptr || ComesBefore(node, *first, request_hash)) {
      second = first;
      first = &node;
    } else if (second == nullptr || ComesBefore(node, *second, request_hash)) {
      second = &node;
    }
  }
  return {.first = first == nullptr ? std::string_view() : first->name,
          .second = second == nullptr ? std::string_view() : second->name};
}

}  // namespace sandglass::gateway
