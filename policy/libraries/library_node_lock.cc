#include "policy/libraries/library_node_lock.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "policy/libraries/library_lock_syntax.h"
#include "policy/libraries/library_syntax.h"
#include "policy/text/quoted.h"

namespace sandglass::policy {
namespace {

using nlohmann::json;

constexpr size_t kMaxPath = 1000;
constexpr size_t kDeepestPath = 12;  // nested packages
constexpr size_t kMaxWords = 32;     // of os, cpu, libc
constexpr size_t kMaxBins = 64;
constexpr absl::string_view kDirectory = "node_modules/";

absl::Status Refuse(const std::string& path, absl::string_view words) {
  return RefuseLock(absl::StrCat("has ", Quoted(path), ", which ", words));
}

// The name of a package's directory; nullopt: npm makes no such path.
std::optional<std::string> NameOfPath(absl::string_view path) {
  if (path.size() > kMaxPath || !absl::ConsumePrefix(&path, kDirectory)) {
    return std::nullopt;
  }
  const std::vector<absl::string_view> names =
      absl::StrSplit(path, "/node_modules/");
  const bool good =
      names.size() <= kDeepestPath &&
      std::all_of(names.begin(), names.end(), [](absl::string_view name) {
        return name.size() <= kMaxLibraryName && NodeName(name).has_value();
      });
  if (!good) return std::nullopt;
  return std::string(names.back());
}

std::string Text(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

bool IsSet(const json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_boolean() && at->get<bool>();
}

// Reads a range that npm would look up in a registry; nullopt: it would look
// elsewhere.
std::optional<NodeNeed> ReadNeed(const std::string& name, std::string range) {
  NodeNeed need;
  if (absl::StartsWith(range, "npm:")) {
    const std::string argument = range.substr(4);
    const size_t at = argument.find('@', 1);
    need.alias = argument.substr(0, at);
    if (need.alias.size() > kMaxLibraryName || !NodeName(need.alias)) {
      return std::nullopt;
    }
    range = at == std::string::npos ? "" : argument.substr(at + 1);
  }
  if (range.find_first_of(":/\\") != std::string::npos) return std::nullopt;
  const std::string& real = need.alias.empty() ? name : need.alias;
  const absl::StatusOr<Library> library =
      ParseLibrary(Ecosystem::kNode, absl::StrCat(real, "@", range));
  // What isn't a range to us may be one to npm; the lock has the version
  // anyway.
  need.range =
      library.ok() && !IsNodeTag(library->version) ? library->version : "*";
  return need;
}

absl::Status ReadNeeds(const std::string& path, const json& package,
                       const char* key, std::map<std::string, NodeNeed>& out) {
  const auto at = package.find(key);
  if (at == package.end()) return absl::OkStatus();
  if (!at->is_object()) return Refuse(path, "has a list of needs of no form");
  for (const auto& [name, range] : at->items()) {
    if (name.size() > kMaxLibraryName || !NodeName(name) ||
        !range.is_string()) {
      return Refuse(path, "needs a package of no name or range");
    }
    std::optional<NodeNeed> need = ReadNeed(name, range.get<std::string>());
    if (!need) {
      return Refuse(path,
                    absl::StrCat("needs ", Quoted(name), " from ",
                                 Quoted(range.get<std::string>()),
                                 "; only packages of a registry are taken"));
    }
    out.emplace(name, *std::move(need));
  }
  return absl::OkStatus();
}

// Accepts only sha512, as npm writes it; several if a package was published
// anew.
std::string ReadIntegrity(const std::string& text) {
  std::vector<std::string> sums;
  for (const absl::string_view word :
       absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    absl::string_view sum = word;
    if (absl::ConsumePrefix(&sum, "sha512-") && IsBase64Of(sum, 64)) {
      sums.emplace_back(word);
    }
  }
  std::sort(sums.begin(), sums.end());
  return absl::StrJoin(sums, " ");
}

// Words such as "linux" and "!win32".
bool IsListOfWords(const json& list) {
  return list.is_array() && list.size() <= kMaxWords &&
         std::all_of(list.begin(), list.end(), [](const json& each) {
           if (!each.is_string()) return false;
           const std::string text = each.get<std::string>();
           absl::string_view word = text;
           absl::ConsumePrefix(&word, "!");
           return word.size() <= kMaxWords && IsWordOf(word, "_-.");
         });
}

bool IsFileOfPackage(const std::string& path) {
  return path.size() <= kMaxPath && IsWordOf(path, "._-/@+") &&
         path[0] != '/' && path[0] != '-' && !absl::StrContains(path, "..");
}

bool IsBins(const json& bins) {
  return bins.is_object() && bins.size() <= kMaxBins &&
         std::all_of(bins.begin(), bins.end(), [](const json& each) {
           return each.is_string() && IsFileOfPackage(each.get<std::string>());
         });
}

json ReadRest(const json& package) {
  json rest = json::object();
  for (const char* key : {"os", "cpu", "libc"}) {
    const auto at = package.find(key);
    if (at != package.end() && IsListOfWords(*at)) rest[key] = *at;
  }
  const auto bin = package.find("bin");
  if (bin != package.end() && IsBins(*bin)) {
    for (const auto& [name, file] : bin->items()) {
      if (NodeName(name)) rest["bin"][name] = file;
    }
  }
  if (IsSet(package, "hasInstallScript")) rest["hasInstallScript"] = true;
  return rest;
}

absl::Status ReadBundle(const std::string& path, const json& package,
                        NodePackage& read) {
  const auto bundle = package.find("bundleDependencies");
  if (bundle == package.end() || !bundle->is_array()) return absl::OkStatus();
  for (const json& name : *bundle) {
    if (!name.is_string() || !NodeName(name.get<std::string>())) {
      return Refuse(path, "bundles a package of no name");
    }
    read.bundle.push_back(name.get<std::string>());
  }
  std::sort(read.bundle.begin(), read.bundle.end());
  return absl::OkStatus();
}

void DropOptionalPeers(const json& package, NodePackage& read) {
  const auto meta = package.find("peerDependenciesMeta");
  if (meta == package.end() || !meta->is_object()) return;
  for (const auto& [name, about] : meta->items()) {
    if (about.is_object() && IsSet(about, "optional")) read.peers.erase(name);
  }
}

json NeedsJson(const std::map<std::string, NodeNeed>& needs) {
  json out = json::object();
  for (const auto& [name, need] : needs) {
    out[name] = need.alias.empty()
                    ? need.range
                    : absl::StrCat("npm:", need.alias, "@", need.range);
  }
  return out;
}

}  // namespace

absl::StatusOr<NodePackage> ReadNodePackage(const std::string& path,
                                            const json& package) {
  std::optional<std::string> directory = NameOfPath(path);
  if (!directory || !package.is_object()) {
    return Refuse(path,
                  "isn't a package in node_modules, or too deep in others");
  }
  if (IsSet(package, "link")) {
    return Refuse(path,
                  "is a link to a directory; only packages of a registry are "
                  "taken");
  }
  const std::string resolved = Text(package, "resolved");
  if (!resolved.empty() && !absl::StartsWith(resolved, "https://") &&
      !absl::StartsWith(resolved, "http://")) {
    return Refuse(path, absl::StrCat("comes from ", Quoted(resolved),
                                     "; only packages of a registry are "
                                     "taken"));
  }
  NodePackage read;
  read.name = package.contains("name") ? Text(package, "name") : *directory;
  read.version = Text(package, "version");
  if (read.name.size() > kMaxLibraryName || !NodeName(read.name)) {
    return Refuse(path, "has no package's name");
  }
  if (read.version.size() > kMaxWords * 4 || !IsSemver(read.version)) {
    return Refuse(path, "has no version such as \"1.2.3\"");
  }
  read.integrity = ReadIntegrity(Text(package, "integrity"));
  read.in_bundle = IsSet(package, "inBundle");
  read.rest = ReadRest(package);
  absl::Status status = ReadBundle(path, package, read);
  status.Update(ReadNeeds(path, package, "dependencies", read.needs));
  status.Update(
      ReadNeeds(path, package, "optionalDependencies", read.may_need));
  status.Update(ReadNeeds(path, package, "peerDependencies", read.peers));
  if (!status.ok()) return status;
  DropOptionalPeers(package, read);
  for (const auto& [name, need] : read.may_need) read.needs.erase(name);
  return read;
}

std::string NodePackageText(const std::string& path,
                            const NodePackage& package) {
  json out = package.rest;
  if (NameOfPath(path) != package.name) out["name"] = package.name;
  out["version"] = package.version;
  if (!package.integrity.empty()) out["integrity"] = package.integrity;
  if (!package.bundle.empty()) out["bundleDependencies"] = package.bundle;
  if (package.in_bundle) out["inBundle"] = true;
  if (package.optional) out["optional"] = true;
  const auto add = [&out](const char* key,
                          const std::map<std::string, NodeNeed>& needs) {
    if (!needs.empty()) out[key] = NeedsJson(needs);
  };
  add("dependencies", package.needs);
  add("optionalDependencies", package.may_need);
  add("peerDependencies", package.peers);
  return out.dump();
}

}  // namespace sandglass::policy
