#ifndef SANDGLASS_CLIENT_LAYERS_LAYER_COMMANDS_H_
#define SANDGLASS_CLIENT_LAYERS_LAYER_COMMANDS_H_

#include <string>

#include "client/connection/endpoint.h"
#include "client/layers/layer_options.h"
#include "sandglass/v1/layer.pb.h"

namespace sandglass::client {

// `sandglass layers …`. Returns the exit code: kExitOk, kExitError, or 128 and
// a signal's number. `build` prints an id and nothing else to standard output;
// the installer's messages go to standard error.
int LayersCommand(const Endpoint& endpoint, const LayersOptions& options);

// The output of `list`.
std::string LayersText(const v1::ListLayersResponse& layers);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LAYERS_LAYER_COMMANDS_H_
