// Reads package-lock.json, versions 2 and 3: what is requested and what that
// needs.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "policy/libraries/library_lock_syntax.h"
#include "policy/libraries/library_node_lock.h"
#include "policy/libraries/library_syntax.h"
#include "policy/text/quoted.h"

namespace sandglass::policy {
namespace {

using nlohmann::json;

constexpr size_t kDeepestJson = 16;
constexpr size_t kMaxEdges = 20000;

// nlohmann's parser accepts any depth, but its values are destroyed
// recursively.
bool IsTooDeep(absl::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if ((c == '{' || c == '[') && ++depth > kDeepestJson) return true;
    if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  return false;
}

absl::StatusOr<json> ReadPackages(absl::string_view text) {
  if (IsTooDeep(text)) return RefuseLock("is no package-lock.json: too deep");
  json root = json::parse(text.begin(), text.end(), nullptr,
                          /*allow_exceptions=*/false);
  if (!root.is_object()) {
    return RefuseLock("isn't the JSON object that package-lock.json is");
  }
  const auto packages = root.find("packages");
  if (packages == root.end() || !packages->is_object()) {
    return RefuseLock(
        "has no \"packages\"; write it with npm 7 or later (`npm install "
        "--package-lock-only`)");
  }
  return std::move(*packages);
}

// The directory of the package in which this one is nested; "" is the root.
std::string Outer(const std::string& path) {
  const size_t at = path.rfind("/node_modules/");
  return at == std::string::npos ? "" : path.substr(0, at);
}

std::string Within(const std::string& path, const std::string& name) {
  return absl::StrCat(path, path.empty() ? "" : "/", "node_modules/", name);
}

// Follows the dependencies from what is requested to everything that it needs.
class Walk {
 public:
  explicit Walk(const json& packages) : packages_(packages) {}

  // What the root requests; its optional dependencies only if they are there.
  absl::StatusOr<std::set<std::string>> RootNames() const {
    std::set<std::string> names;
    const auto root = packages_.find("");
    if (root == packages_.end() || !root->is_object()) {
      return RefuseLock(
          "has no \"\" in its \"packages\", so nothing is asked for; name "
          "libraries too");
    }
    for (const char* key : {"dependencies", "optionalDependencies"}) {
      const auto at = root->find(key);
      if (at == root->end() || !at->is_object()) continue;
      const bool optional = at.key() == "optionalDependencies";
      for (const auto& [name, range] : at->items()) {
        if (packages_.contains(Within("", name))) {
          names.insert(name);
        } else if (!optional) {
          return RefuseLock(
              absl::StrCat("asks for ", Quoted(name),
                           " and has no such package; write it "
                           "anew with `npm install --package-lock-only`"));
        }
      }
    }
    return names;
  }

  absl::Status From(const std::vector<Library>& asked) {
    // First what has to be there; then what may be missing: only that is
    // optional which nothing else needs.
    for (const Library& each : asked) {
      const std::string path = Within("", each.name);
      if (!packages_.contains(path)) return RefuseNotLocked(each);
      if (absl::Status s = Visit(path, false); !s.ok()) return s;
      const NodePackage& package = found_.at(path);
      if (package.name != each.name) {
        return RefuseAsked(
            each, absl::StrCat("which is another's name in the lock; name ",
                               Quoted(package.name)));
      }
    }
    for (const bool optional : {false, true}) {
      if (absl::Status s = Follow(optional); !s.ok()) return s;
    }
    return CheckSums();
  }

  const std::map<std::string, NodePackage>& found() const { return found_; }

 private:
  absl::Status Visit(const std::string& path, bool optional) {
    if (found_.count(path) != 0) return absl::OkStatus();
    absl::StatusOr<NodePackage> package =
        ReadNodePackage(path, packages_.at(path));
    if (!package.ok()) return package.status();
    package->optional = optional;
    edges_ += package->needs.size() + package->may_need.size() +
              package->peers.size() + package->bundle.size();
    if (found_.size() >= kMaxLockEntries || edges_ > kMaxEdges) {
      return RefuseLock(absl::StrCat("has too many libraries; at most ",
                                     kMaxLockEntries, " are taken, which need ",
                                     "others ", kMaxEdges, " times"));
    }
    found_.emplace(path, *std::move(package));
    (optional ? late_ : soon_).push_back(path);
    return absl::OkStatus();
  }

  // Searches in the same order as node: in the package, then in those around
  // it.
  std::optional<std::string> Resolve(std::string from,
                                     const std::string& name) const {
    while (true) {
      std::string path = Within(from, name);
      if (packages_.contains(path)) return path;
      if (from.empty()) return std::nullopt;
      from = Outer(from);
    }
  }

  absl::Status Need(const std::string& from, const std::string& path,
                    const std::string& name, const NodeNeed& need,
                    bool optional) {
    const std::optional<std::string> to = Resolve(from, name);
    if (!to) {
      return RefuseLock(
          absl::StrCat("has ", Quoted(path), ", which needs ", Quoted(name),
                       ", and no such package; write it anew with `npm install "
                       "--package-lock-only`"));
    }
    if (absl::Status s = Visit(*to, optional); !s.ok()) return s;
    if (found_.at(*to).name == (need.alias.empty() ? name : need.alias)) {
      return absl::OkStatus();
    }
    return RefuseLock(absl::StrCat("has ", Quoted(*to), " as ",
                                   Quoted(found_.at(*to).name), ", and ",
                                   Quoted(path), " needs another package"));
  }

  absl::Status Follow(bool optional) {
    std::deque<std::string> turn;
    turn.swap(optional ? late_ : soon_);
    while (!turn.empty()) {
      const std::string path = turn.front();
      turn.pop_front();
      NodePackage& package = found_.at(path);
      for (const auto& [name, need] : package.needs) {
        if (absl::Status s = Need(path, path, name, need, optional); !s.ok()) {
          return s;
        }
      }
      if (absl::Status s = FollowPeers(path, optional); !s.ok()) return s;
      if (!optional) optionals_.push_back(path);
      if (optional) {
        if (absl::Status s = FollowOptional(path); !s.ok()) return s;
      }
      std::deque<std::string>& more = optional ? late_ : soon_;
      turn.insert(turn.end(), more.begin(), more.end());
      more.clear();
    }
    if (optional) return absl::OkStatus();
    for (const std::string& path : optionals_) {
      if (absl::Status s = FollowOptional(path); !s.ok()) return s;
    }
    return absl::OkStatus();
  }

  // npm may leave an optional package out of the lock; then it is left out here
  // too.
  absl::Status FollowOptional(const std::string& path) {
    return FollowThere(path, path, found_.at(path).may_need, true);
  }

  // Peers are beside the package, not inside of it. npm is told to leave them
  // out when they aren't there.
  absl::Status FollowPeers(const std::string& path, bool optional) {
    return FollowThere(Outer(path), path, found_.at(path).peers, optional);
  }

  absl::Status FollowThere(const std::string& from, const std::string& path,
                           std::map<std::string, NodeNeed>& needs,
                           bool optional) {
    for (auto it = needs.begin(); it != needs.end();) {
      if (!Resolve(from, it->first)) {
        it = needs.erase(it);
        continue;
      }
      absl::Status s = Need(from, path, it->first, it->second, optional);
      if (!s.ok()) return s;
      ++it;
    }
    return absl::OkStatus();
  }

  // Only what comes in another package's own archive may lack a checksum.
  absl::Status CheckSums() const {
    std::set<std::string> brought;
    for (const auto& [path, package] : found_) {
      if (!package.bundle.empty()) AddBrought(path, package, brought);
    }
    for (const auto& [path, package] : found_) {
      if (!package.integrity.empty() || brought.count(path) != 0) continue;
      return RefuseLock(absl::StrCat(
          "has no \"integrity\" with sha512 for ", Quoted(path),
          "; packages of repositories and directories have none, those of a "
          "registry get one by `npm install --package-lock-only`"));
    }
    return absl::OkStatus();
  }

  void AddBrought(const std::string& owner, const NodePackage& package,
                  std::set<std::string>& brought) const {
    const std::string inside = absl::StrCat(owner, "/");
    std::deque<std::string> turn;
    const auto take = [&](const std::string& from, const std::string& name) {
      const std::optional<std::string> path = Resolve(from, name);
      if (!path || !absl::StartsWith(*path, inside)) return;
      const auto at = found_.find(*path);
      if (at == found_.end() || !at->second.in_bundle) return;
      if (brought.insert(*path).second) turn.push_back(*path);
    };
    for (const std::string& name : package.bundle) take(owner, name);
    while (!turn.empty()) {
      const std::string path = turn.front();
      turn.pop_front();
      for (const auto& [name, need] : found_.at(path).needs) take(path, name);
    }
  }

  const json& packages_;
  std::map<std::string, NodePackage> found_;
  std::deque<std::string> soon_, late_;
  std::vector<std::string> optionals_;
  size_t edges_ = 0;
};

}  // namespace

absl::StatusOr<LibraryLock> ReadNodeLock(absl::string_view text,
                                         std::vector<Library>& asked) {
  const absl::StatusOr<json> packages = ReadPackages(text);
  if (!packages.ok()) return packages.status();
  Walk walk(*packages);
  if (asked.empty()) {
    const absl::StatusOr<std::set<std::string>> names = walk.RootNames();
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      absl::StatusOr<std::string> normal =
          ParseLibraryName(Ecosystem::kNode, name);
      if (!normal.ok()) {
        return RefuseLock(absl::StrCat("asks for a library of no name: ",
                                       normal.status().message()));
      }
      asked.push_back(
          {.ecosystem = Ecosystem::kNode, .name = *std::move(normal)});
    }
  }
  if (absl::Status s = walk.From(asked); !s.ok()) return s;
  LibraryLock lock;
  std::vector<Library> entries;
  std::vector<std::string> members;
  for (const auto& [path, package] : walk.found()) {
    entries.push_back({.ecosystem = Ecosystem::kNode,
                       .name = package.name,
                       .version = package.version});
    members.push_back(
        absl::StrCat(json(path).dump(), ": ", NodePackageText(path, package)));
  }
  lock.node_packages = absl::StrJoin(members, ",\n");
  if (absl::Status set = SetEntries(std::move(entries), lock); !set.ok()) {
    return set;
  }
  return lock;
}

std::vector<LockFile> NodeLockFiles(const LibrarySet& set) {
  json names = json::object();
  for (const Library& each : set.libraries()) {
    // A registry would have to resolve a tag; here the lock has the version.
    const bool is_range = !each.version.empty() && !IsNodeTag(each.version);
    names[each.name] = is_range ? each.version : "*";
  }
  const std::string dependencies = names.dump();
  return {
      {"lock/package.json",
       absl::StrCat("{\"private\": true, \"dependencies\": ", dependencies,
                    "}\n")},
      {"lock/package-lock.json",
       absl::StrCat("{\"lockfileVersion\": 3, \"requires\": true, "
                    "\"packages\": {\n\"\": {\"dependencies\": ",
                    dependencies, "},\n", set.lock()->node_packages, "}}\n")}};
}

}  // namespace sandglass::policy
