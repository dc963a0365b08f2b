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

// Where a language's libraries come from, by the configuration.
struct RegistryConfig {
  std::string url;                 // http or https; empty: as the host's tool
  std::vector<std::string> hosts;  // beside the URL's own
};

// A set of libraries whose programs get an interpreter that has imported them.
struct LibraryZygoteConfig {
  std::string language;
  std::vector<std::string> libraries;               // as requests name them
  std::vector<std::string> preload;                 // modules
  uint64_t idle_memory_bytes = uint64_t{16} << 20;  // of a jail that waits
};

// How libraries are installed and kept.
struct LibrariesConfig {
  std::string dir;                         // of the layers; empty: no libraries
  uint64_t max_bytes = uint64_t{8} << 30;  // of all layers
  uint64_t max_layer_bytes = uint64_t{2} << 30;  // of one
  absl::Duration max_age = absl::Hours(24 * 30);
  absl::Duration install_timeout = absl::Minutes(5);
  uint64_t install_memory_bytes = uint64_t{4} << 30;
  uint32_t install_at_once = 2;
  std::map<policy::Ecosystem, RegistryConfig> registries;
  // Certificates that installs trust beside the host's, in PEM; empty: none.
  std::string ca_file;
  std::vector<LibraryZygoteConfig> zygotes;
};

// The key "libraries". What is wrong becomes an error of `root`.
void ReadLibrariesConfig(policy::JsonObject& root, LibrariesConfig& libraries);
nlohmann::ordered_json LibrariesToJson(const LibrariesConfig& libraries);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIBRARIES_LIBRARIES_CONFIG_H_
