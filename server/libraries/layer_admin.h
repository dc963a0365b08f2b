#ifndef SANDGLASS_SERVER_LIBRARIES_LAYER_ADMIN_H_
#define SANDGLASS_SERVER_LIBRARIES_LAYER_ADMIN_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandglass/v1/layer.pb.h"
#include "server/base/cancel_token.h"
#include "server/identity/identity.h"
#include "server/layers/layer_builds.h"
#include "server/libraries/libraries.h"
#include "server/live_policy/live_policy.h"
#include "server/pool/jail_pool.h"

namespace sandglass::server {

struct LayerAdminParts {
  const LivePolicy* policy = nullptr;
  JailPool* pool = nullptr;        // jails with layers wait there
  Libraries* libraries = nullptr;  // null: none are installed,
  std::string no_libraries = {};   // for this reason
};

// Answers callers' requests about installed sets of libraries. Thread-safe;
// blocks the calling thread. Without libraries every answer is
// LIBRARIES_UNAVAILABLE.
class LayerAdmin {
 public:
  // Whatever `parts` points to must outlive this object.
  explicit LayerAdmin(LayerAdminParts parts) : parts_(std::move(parts)) {}

  // Operators see all layers; others see those that they have had themselves.
  absl::StatusOr<v1::ListLayersResponse> List(
      const Identity& caller, const v1::ListLayersRequest& request) const;
  // CANCELLED when the token fires; the install then ends, unless somebody else
  // waits for it.
  absl::StatusOr<v1::LayerBuilt> Build(const Identity& caller,
                                       const v1::BuildLayerRequest& request,
                                       const LayerBuilds::Progress& progress,
                                       CancelToken& cancel) const;
  absl::StatusOr<v1::RemoveLayerResponse> Remove(
      const Identity& caller, const v1::RemoveLayerRequest& request) const;

 private:
  absl::Status HasLibraries() const;
  // Finds the layer whose id begins with these digits.
  absl::StatusOr<LayerInfo> Find(const std::string& digits) const;

  const LayerAdminParts parts_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIBRARIES_LAYER_ADMIN_H_
