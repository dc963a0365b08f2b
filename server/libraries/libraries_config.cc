#include "server/libraries/libraries_config.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "policy/network/hosts.h"
#include "server/base/strings.h"
#include "server/libraries/registry_url.h"

namespace sandglass::server {
namespace {

using policy::JsonObject;

RegistryConfig ReadRegistry(JsonObject object) {
  RegistryConfig registry;
  registry.url = object.String("url", "");
  if (!registry.url.empty()) {
    if (const auto url = ParseRegistryUrl(registry.url); !url.ok()) {
      object.AddError("url", StdView(url.status().message()));
    }
  }
  registry.hosts = object.Strings("hosts", registry.hosts);
  for (size_t i = 0; i < registry.hosts.size(); ++i) {
    const auto host = policy::HostPattern::Parse(registry.hosts[i]);
    if (host.ok()) continue;
    object.AddErrorAt(absl::StrCat(AbslView(object.Pointer("hosts")), "/", i),
                      StdView(host.status().message()));
  }
  return registry;
}

constexpr size_t kMaxZygotes = 8;
constexpr size_t kMaxPreloads = 64;

// Accepts only a module's name, so that it can't be an option for the
// interpreter.
bool IsModule(const std::string& name) {
  return !name.empty() && name.size() <= 128 &&
         name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyz"
             "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == std::string::npos;
}

LibraryZygoteConfig ReadZygote(JsonObject& object) {
  LibraryZygoteConfig zygote;
  zygote.language = object.String("language");
  zygote.libraries = object.Strings("libraries");
  zygote.preload = object.Strings("preload");
  zygote.idle_memory_bytes = object.ByteSize(
      "idle_memory", {.min = uint64_t{1} << 20, .max = uint64_t{4} << 30},
      zygote.idle_memory_bytes);
  const auto ecosystem = policy::EcosystemOfLanguage(zygote.language);
  if (!ecosystem) {
    object.AddError("language",
                    absl::StrCat(Quoted(zygote.language),
                                 " is no language that has libraries"));
    return zygote;
  }
  const auto set = policy::LibrarySet::Parse(*ecosystem, zygote.libraries);
  if (zygote.libraries.empty()) {
    object.AddError("libraries", "is empty; name those of the set");
  } else if (!set.ok()) {
    object.AddError("libraries", StdView(set.status().message()));
  }
  if (zygote.preload.empty() || zygote.preload.size() > kMaxPreloads) {
    object.AddError("preload", absl::StrCat("takes 1 to ", kMaxPreloads,
                                            " modules to import"));
  }
  for (const std::string& module : zygote.preload) {
    if (IsModule(module)) continue;
    object.AddError("preload",
                    absl::StrCat(Quoted(module), " is no module's name"));
  }
  return zygote;
}

void ReadZygotes(JsonObject& object, LibrariesConfig& libraries) {
  if (!object.Has("zygotes")) return;
  std::vector<JsonObject> zygotes = object.Objects("zygotes");
  if (zygotes.size() > kMaxZygotes) {
    object.AddError("zygotes",
                    absl::StrCat("has ", zygotes.size(), " entries; at most ",
                                 kMaxZygotes, " are taken"));
    return;
  }
  for (JsonObject& zygote : zygotes) {
    libraries.zygotes.push_back(ReadZygote(zygote));
  }
}

void ReadPath(JsonObject& object, const char* key, std::string& path) {
  path = object.String(key, path);
  if (path.empty() || path.front() == '/') return;
  object.AddError(key, absl::StrCat(Quoted(path), " is not an absolute path"));
}

}  // namespace

void ReadLibrariesConfig(JsonObject& root, LibrariesConfig& libraries) {
  std::optional<JsonObject> object = root.OptionalObject("libraries");
  if (!object.has_value()) return;
  ReadPath(*object, "dir", libraries.dir);
  constexpr uint64_t kMax = uint64_t{1} << 40;
  libraries.max_bytes =
      object->ByteSize("max_bytes", {.max = kMax}, libraries.max_bytes);
  libraries.max_layer_bytes = object->ByteSize(
      "max_layer_bytes", {.min = 1 << 20, .max = uint64_t{64} << 30},
      libraries.max_layer_bytes);
  libraries.max_age = object->Duration(
      "max_age", {.min = absl::Minutes(1), .max = absl::Hours(24 * 3660)},
      libraries.max_age);
  libraries.install_timeout = object->Duration(
      "install_timeout", {.min = absl::Seconds(1), .max = absl::Hours(2)},
      libraries.install_timeout);
  libraries.install_memory_bytes = object->ByteSize(
      "install_memory", {.min = uint64_t{256} << 20, .max = kMax},
      libraries.install_memory_bytes);
  libraries.install_at_once = static_cast<uint32_t>(object->Unsigned(
      "install_at_once", {.min = 1, .max = 64}, libraries.install_at_once));
  ReadPath(*object, "ca_file", libraries.ca_file);
  ReadZygotes(*object, libraries);
  std::optional<JsonObject> registries = object->OptionalObject("registries");
  if (!registries.has_value()) return;
  for (const policy::Ecosystem ecosystem : policy::kEcosystems) {
    std::optional<JsonObject> registry =
        registries->OptionalObject(policy::EcosystemName(ecosystem));
    if (!registry.has_value()) continue;
    libraries.registries[ecosystem] = ReadRegistry(*registry);
  }
}

nlohmann::ordered_json LibrariesToJson(const LibrariesConfig& libraries) {
  nlohmann::ordered_json registries = nlohmann::ordered_json::object();
  for (const auto& [ecosystem, registry] : libraries.registries) {
    registries[std::string(policy::EcosystemName(ecosystem))] = {
        {"url", registry.url}, {"hosts", registry.hosts}};
  }
  nlohmann::ordered_json zygotes = nlohmann::ordered_json::array();
  for (const LibraryZygoteConfig& zygote : libraries.zygotes) {
    zygotes.push_back({{"language", zygote.language},
                       {"libraries", zygote.libraries},
                       {"preload", zygote.preload},
                       {"idle_memory", zygote.idle_memory_bytes}});
  }
  return {{"dir", libraries.dir},
          {"max_bytes", libraries.max_bytes},
          {"max_layer_bytes", libraries.max_layer_bytes},
          {"max_age", absl::FormatDuration(libraries.max_age)},
          {"install_timeout", absl::FormatDuration(libraries.install_timeout)},
          {"install_memory", libraries.install_memory_bytes},
          {"install_at_once", libraries.install_at_once},
          {"registries", std::move(registries)},
          {"ca_file", libraries.ca_file},
          {"zygotes", std::move(zygotes)}};
}

}  // namespace sandglass::server
