#ifndef SANDGLASS_SANDBOX_SPAWNER_LAYER_H_
#define SANDGLASS_SANDBOX_SPAWNER_LAYER_H_

#include <string>

#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

// A detached mount of a layer's tree, with the flags of the yard's kYardLayers.
// Invalid with errno: there is none. Whoever writes the layers is trusted with
// what is in them, not with what they lead to: no link is followed.
os::Fd OpenLayer(const std::string& id);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_LAYER_H_
