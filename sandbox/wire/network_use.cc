#include "sandbox/wire/network_use.h"

#include <algorithm>
#include <utility>

namespace sandglass::sandbox {

NetworkUse Since(const NetworkUse& before, const NetworkUse& now) {
  NetworkUse since = {.connections = now.connections - before.connections,
                      .refused = now.refused - before.refused,
                      .bytes_up = now.bytes_up - before.bytes_up,
                      .bytes_down = now.bytes_down - before.bytes_down,
                      .refusals = {}};
  for (NetworkRefusal refusal : now.refusals) {
    const auto earlier = std::find_if(
        before.refusals.begin(), before.refusals.end(),
        [&](const NetworkRefusal& each) {
          return each.target == refusal.target && each.words == refusal.words;
        });
    if (earlier != before.refusals.end()) refusal.count -= earlier->count;
    if (refusal.count > 0) since.refusals.push_back(std::move(refusal));
  }
  return since;
}

}  // namespace sandglass::sandbox
