#ifndef SANDGLASS_SERVER_LIBRARIES_LIBRARIES_CONFIG_H_
#define SANDGLASS_SERVER_LIBRARIES_LIBRARIES_CONFIG_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "policy/libraries/libraries.h"
#include "policy/text/json_reader.h"

namespace sandglass::server {

// The place from which a language's libraries come, by the configuration.
struct RegistryConfig {
  std::string url;  // http or https; empty: that of the host's tool
  std::vector<std::string> hosts;  // besides the URL's own host
};

// A set of libraries for whose programs interpreters wait that have already
// imported them.
struct LibraryZygoteConfig {
  std::string language;
  std::vector<std::string> libraries;  // in the form that requests use
  std::vector<std::string> preload;    // modules
  uint64_t idle_memory_bytes = uint64_t{16} << 20;  // of an idle jail
};

// How libraries are installed and kept.
struct LibrariesConfig {
  std::string dir;  // of the layers; empty when there are no libraries
  uint64_t max_bytes = uint64_t{8} << 30;        // of all layers together
  uint64_t max_layer_bytes = uint64_t{2} << 30;  // of one layer
  absl::Duration max_age = absl::Hours(24 * 30);
  absl::Duration install_timeout = absl::Minutes(5);
  uint64_t install_memory_bytes = uint64_t{4} << 30;
  uint32_t install_at_once = 2;
  std::map<policy::Ecosystem, RegistryConfig> registries;
  // A PEM file of certificates that installs trust in addition to the host's;
  // empty when there are none.
  std::string ca_file;
  std::vector<LibraryZygoteConfig> zygotes;
};

// Reads the key "libraries". Mistakes become errors of `root`.
void ReadLibrariesConfig(policy::JsonObject& root, LibrariesConfig& libraries);
nlohmann::ordered_json LibrariesToJson(const LibrariesConfig& libraries);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIBRARIES_LIBRARIES_CONFIG_H_
