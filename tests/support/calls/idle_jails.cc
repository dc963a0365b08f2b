#include "tests/support/calls/idle_jails.h"

namespace sandglass::testing {

uint32_t IdleOf(Client& client, const std::string& kind) {
  v1::GetServerInfoResponse info;
  if (!client.Info(&info).ok()) return 0;
  uint32_t idle = 0;
  for (const v1::PoolKind& each : info.pool()) {
    if (each.kind() == kind) idle += each.idle();
  }
  return idle;
}

uint64_t HitsOf(Client& client, const std::string& kind) {
  v1::GetServerInfoResponse info;
  if (!client.Info(&info).ok()) return 0;
  uint64_t hits = 0;
  for (const v1::PoolKind& each : info.pool()) {
    if (each.kind() == kind) hits += each.hits();
  }
  return hits;
}

}  // namespace sandglass::testing
