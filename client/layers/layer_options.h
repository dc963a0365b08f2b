#ifndef SANDGLASS_CLIENT_LAYERS_LAYER_OPTIONS_H_
#define SANDGLASS_CLIENT_LAYERS_LAYER_OPTIONS_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace sandglass::client {

struct ListLayersOptions {
  std::string language;  // empty: all
  bool json = false;
};

struct BuildLayerOptions {
  std::string language;
  std::vector<std::string> libraries;
  std::optional<std::string> lock_file;  // "-" is standard input
  std::string profile;
  bool json = false;
  bool quiet = false;  // don't show the installer's output
};

struct RemoveLayersOptions {
  std::vector<std::string> ids;  // or their first digits
  bool json = false;
};

using LayersOptions =
    std::variant<ListLayersOptions, BuildLayerOptions, RemoveLayersOptions>;

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LAYERS_LAYER_OPTIONS_H_
