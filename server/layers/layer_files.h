#ifndef SANDGLASS_SERVER_LAYERS_LAYER_FILES_H_
#define SANDGLASS_SERVER_LAYERS_LAYER_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/layers/layer_tree.h"

namespace sandglass::server {

// The files that the store of layers keeps beside the layers' own trees.

inline constexpr char kLayerManifest[] = "manifest";
inline constexpr char kLayerRecord[] = "record.json";

// Removes a directory with everything in it; logs what it can't remove.
void RemoveTree(const std::string& path);

// Makes or replaces a file, completely or not at all. RESOURCE_EXHAUSTED: the
// disk is full.
absl::Status WriteWhole(const std::string& directory, const std::string& name,
                        const std::string& text);

// Reads the manifest in a layer's directory `own`. DATA_LOSS: there is none, or
// it isn't that of the layer with this id.
absl::StatusOr<LayerManifest> ReadLayerManifest(const std::string& own,
                                                const std::string& id);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LAYERS_LAYER_FILES_H_
