#ifndef SANDGLASS_GATEWAY_PLACE_PLACEMENT_ERRORS_H_
#define SANDGLASS_GATEWAY_PLACE_PLACEMENT_ERRORS_H_

#include <string>
#include <vector>

#include "absl/random/bit_gen_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gateway/place/node_table.h"
#include "gateway/place/placement.h"

namespace sandglass::gateway {

// The API's errors on requests that no node can take, made as those of
// server/base/errors.h.

// INVALID_ARGUMENT, "INVALID_REQUEST".
absl::Status TooMuchMemory(const Wish& wish);

// Why no node is fit, precondition: none is.
//   UNAVAILABLE, "NO_NODES", with RetryInfo: there is no node at all.
//   FAILED_PRECONDITION, "LANGUAGE_UNAVAILABLE": no node has the language; the
//     message lists those that there are.
//   FAILED_PRECONDITION, "NO_FITTING_NODE": no node has the profile, or the
//     image, or all that is asked for together.
//   UNAVAILABLE, "NODES_AWAY", with RetryInfo: those that have all of it are
//     silent, drain, or are excluded; the message counts them.
absl::Status NobodyIsFit(const Wish& wish, const NodeTable& nodes,
                         const std::vector<std::string>& excluded,
                         absl::BitGenRef random);

// Why no fit node takes it, precondition: some are fit, and none does.
//   FAILED_PRECONDITION, "MEMORY_BUDGET_TOO_SMALL": no fit node has so much
//     memory for runs altogether.
//   RESOURCE_EXHAUSTED, "NODES_FULL", with RetryInfo.
absl::Status AllAreFull(const Wish& wish, const NodeTable& nodes,
                        const std::vector<std::string>& excluded,
                        absl::BitGenRef random);

// When to try again what was tried `tries` times: 0.2 s, doubled with each try
// up to 5 s, and of that a half to all of it by chance, so that those that were
// refused together don't come back together.
absl::Duration RetryAfter(int tries, absl::BitGenRef random);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PLACE_PLACEMENT_ERRORS_H_
