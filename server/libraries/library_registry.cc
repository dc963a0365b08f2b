#include "server/libraries/library_registry.h"

#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "re2/re2.h"
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
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* home = std::getenv("HOME");
  return absl::StrCat(home == nullptr ? "/root" : home, file.substr(1));
}

// Returns a line for each element of this name; such elements have no
// attributes. Comments, the last of which may have no end, are left out.
std::string LinesOfElements(std::string xml, const std::string& element) {
  RE2::GlobalReplace(&xml, RE2("(?s)<!--.*?(?:-->|$)", RE2::Latin1), "");
  absl::StrReplaceAll({{"\n", " "}, {"\r", " "}}, &xml);
  const std::string name = RE2::QuoteMeta(element);
  const RE2 whole(absl::StrCat("<", name, ">(.*?)</", name, ">"), RE2::Latin1);
  re2::StringPiece rest(xml);
  std::string lines;
  for (std::string text; RE2::FindAndConsume(&rest, whole, &text);) {
    absl::StrAppend(&lines, text, "\n");
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
    return FirstMatch(
        place.element.empty() ? *text : LinesOfElements(*text, place.element),
        place, path);
  }
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
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
