#ifndef SANDGLASS_SANDBOX_SPAWNER_LAYER_H_
#define SANDGLASS_SANDBOX_SPAWNER_LAYER_H_

#include <string>

#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// Returns a detached mount of a layer's tree, with the flags of the yard's
// kYardLayers. Invalid with errno set when there is no such layer. Whoever
// writes the layers is trusted with their contents but not with where links
// lead: none is followed.
os::Fd OpenLayer(const std::string& id);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_LAYER_H_
