#ifndef SANDGLASS_SERVER_LAYERS_JAIL_LAYER_H_
#define SANDGLASS_SERVER_LAYERS_JAIL_LAYER_H_

#include <memory>
#include <string>

namespace sandglass::server {

// The libraries that a jail sees as sandbox::kLibraries.
struct JailLayer {
  std::string id;  // of the LayerStore; empty: none
  // Keeps the layer from being evicted. Held by whoever may still make such
  // jails, and by each of these jails.
  std::shared_ptr<const void> pin;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LAYERS_JAIL_LAYER_H_
