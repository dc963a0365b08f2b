#include "server/libraries/library_registry.h"

#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "sandbox/os/files.h"
#include "server/base/strings.h"
#include "server/libraries/registry_url.h"
#include "server/libraries/zip_entry.h"

namespace sandglass::server {
namespace {

struct Found {
  std::string value;
  std::string place;
};

// The host's environment is that of the user who starts the daemon, and its
// home is root's.
std::string HomePath(const std::string& file) {
  if (file.rfind("~/", 0) != 0) return file;
  const char* home = std::getenv("HOME");
  return absl::StrCat(home == nullptr ? "/root" : home, file.substr(1));
}

void RemoveComments(std::string& xml) {
  for (size_t at = xml.find("<!--"); at != std::string::npos;
       at = xml.find("<!--", at)) {
    const size_t end = xml.find("-->", at + 4);
    xml.erase(at, end == std::string::npos ? end : end + 3 - at);
  }
}

// Returns a line for each element of this name; such elements have no
// attributes.
std::string LinesOfElements(std::string xml, const std::string& element) {
  RemoveComments(xml);
  absl::StrReplaceAll({{"\n", " "}, {"\r", " "}}, &xml);
  const std::string begin = absl::StrCat("<", element, ">");
  const std::string end = absl::StrCat("</", element, ">");
  std::string lines;
  for (size_t at = xml.find(begin); at != std::string::npos;) {
    at += begin.size();
    const size_t close = xml.find(end, at);
    if (close == std::string::npos) break;
    absl::StrAppend(&lines, xml.substr(at, close - at), "\n");
    at = xml.find(begin, close);
  }
  return lines;
}

std::optional<Found> FirstMatch(std::string_view text,
                                const policy::RegistryPlace& place,
                                std::string where) {
  const std::optional<std::string> value =
      policy::FindInPlace(place, AbslView(text));
  if (!value) return std::nullopt;
  return Found{*value + place.append, std::move(where)};
}

std::optional<Found> FindInRegistry(const policy::RegistryPlace& place) {
  if (place.variable.empty()) {
    const std::string path = HomePath(place.file);
    absl::StatusOr<std::string> text = place.entry.empty()
                                           ? os::ReadWholeFile(path)
                                           : ReadZipEntry(path, place.entry);
    if (!text.ok()) return std::nullopt;
    if (!place.element.empty()) {
      *text = LinesOfElements(*std::move(text), place.element);
    }
    return FirstMatch(*text, place, path);
  }
  const char* value = std::getenv(place.variable.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  const std::string where = place.variable + " in the environment";
  if (!place.pattern.empty()) return FirstMatch(value, place, where);
  return Found{value + place.append, where};
}

policy::AllowedHost Rule(policy::HostPattern host, uint16_t port) {
  return {
      .host = std::move(host), .ports = {{port, port}}, .any_address = true};
}

}  // namespace

absl::StatusOr<LibraryRegistry> FindRegistry(
    const policy::LibraryRecipe& recipe, const RegistryConfig& config,
    const std::string& language) {
  Found found = {config.url, "the daemon's configuration"};
  std::vector<std::string> hosts = config.hosts;
  for (const policy::RegistryPlace& place : recipe.registry) {
    if (!found.value.empty()) break;
    found = FindInRegistry(place).value_or(Found{});
  }
  if (found.value.empty()) {
    return absl::NotFoundError(
        absl::StrCat("no registry is configured; set libraries.registries.",
                     language, ".url"));
  }
  const absl::StatusOr<RegistryUrl> url = ParseRegistryUrl(found.value);
  if (!url.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(found.place, ": ", url.status().message()));
  }
  if (config.url.empty()) {
    for (const policy::RegistryPlace& place : recipe.hosts) {
      if (const auto host = FindInRegistry(place)) hosts.push_back(host->value);
    }
  }
  LibraryRegistry registry = {.url = url->text, .source = found.place};
  registry.network.profile = absl::StrCat("libraries of ", language);
  registry.network.limits.bytes = uint64_t{8} << 30;
  absl::StatusOr<policy::HostPattern> own =
      policy::HostPattern::Parse(url->host);
  if (!own.ok()) return own.status();
  registry.network.hosts.push_back(Rule(*std::move(own), url->port));
  for (const std::string& text : hosts) {
    absl::StatusOr<policy::HostPattern> host = policy::HostPattern::Parse(text);
    if (!host.ok()) return host.status();
    if (*host == registry.network.hosts.front().host) continue;
    registry.network.hosts.push_back(
        Rule(*std::move(host), policy::kHttpsPort));
  }
  if (absl::Status good = policy::Check(registry.network); !good.ok()) {
    return good;
  }
  return registry;
}

}  // namespace sandglass::server
