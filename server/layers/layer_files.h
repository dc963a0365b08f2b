#ifndef SANDGLASS_SERVER_LAYERS_LAYER_FILES_H_
#define SANDGLASS_SERVER_LAYERS_LAYER_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/layers/layer_tree.h"

namespace sandglass::server {

// Files of the store of layers, beside the layers' own trees.

inline constexpr char kLayerManifest[] = "manifest";
inline constexpr char kLayerRecord[] = "record.json";

// Removes a directory with all that is in it; logs what it can't.
void RemoveTree(const std::string& path);

// Makes or replaces a file, whole or not at all. RESOURCE_EXHAUSTED: the disk
// is full.
absl::Status WriteWhole(const std::string& directory, const std::string& name,
                        const std::string& text);

// The manifest in a layer's directory. DATA_LOSS: it has none, or not that of
// the layer with this id.
absl::StatusOr<LayerManifest> ReadLayerManifest(const std::string& own,
                                                const std::string& id);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LAYERS_LAYER_FILES_H_
