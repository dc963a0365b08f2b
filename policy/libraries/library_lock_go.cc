// Reads go.sum, whose lines are a module's path, its version, and a checksum.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "policy/libraries/library_lock_syntax.h"
#include "policy/libraries/library_syntax.h"
#include "policy/text/quoted.h"

namespace sandglass::policy {
namespace {

constexpr absl::string_view kGoMod = "/go.mod";

// The checksums of one version of a module.
struct Sums {
  std::string module;  // of its files; empty: it isn't installed
  std::string go_mod;
};
// The checksums by path and version.
using Versions = std::map<std::string, Sums>;
using Modules = std::map<std::string, Versions>;

absl::Status ReadLine(const LockLine& line, Modules& modules) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line.text, ' ', absl::SkipEmpty());
  if (words.empty()) return absl::OkStatus();
  if (words.size() != 3) {
    return RefuseLockLine(line.number,
                          "isn't a module, its version and its checksum, as "
                          "each line of go.sum is; send go.sum, not go.mod");
  }
  absl::string_view version = words[1];
  const bool of_go_mod = absl::ConsumeSuffix(&version, kGoMod);
  const std::string argument = absl::StrCat(words[0], "@", version);
  const absl::StatusOr<Library> library =
      ParseLibrary(Ecosystem::kGo, argument);
  if (!library.ok()) {
    return RefuseLockLine(line.number, library.status().message());
  }
  if (library->version == "latest") {
    return RefuseLockLine(line.number, "has no version");
  }
  absl::string_view sum = words[2];
  if (!absl::ConsumePrefix(&sum, "h1:") || !IsBase64Of(sum, 32)) {
    return RefuseLockLine(line.number,
                          absl::StrCat("has ", Quoted(std::string(words[2])),
                                       " for a checksum; one is \"h1:\" and 44 "
                                       "characters of base64"));
  }
  Sums& sums = modules[library->name][library->version];
  std::string& there = of_go_mod ? sums.go_mod : sums.module;
  if (!there.empty() && there != words[2]) {
    return RefuseLockLine(
        line.number, absl::StrCat("has another checksum for ", Quoted(argument),
                                  " than a line before it"));
  }
  there = std::string(words[2]);
  return absl::OkStatus();
}

int CompareNumbers(absl::string_view a, absl::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

bool IsDigits(absl::string_view text) {
  return text.find_first_not_of("0123456789") == absl::string_view::npos;
}

// Compares one identifier of a pre-release each: numbers come before words.
int CompareParts(absl::string_view a, absl::string_view b) {
  if (IsDigits(a) != IsDigits(b)) return IsDigits(a) ? -1 : 1;
  return IsDigits(a) ? CompareNumbers(a, b) : a.compare(b);
}

int CompareLists(absl::string_view a, absl::string_view b) {
  const std::vector<absl::string_view> left = absl::StrSplit(a, '.');
  const std::vector<absl::string_view> right = absl::StrSplit(b, '.');
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (const int order = CompareParts(left[i], right[i]); order != 0) {
      return order;
    }
  }
  return left.size() == right.size() ? 0 : left.size() < right.size() ? -1 : 1;
}

// Whether `a` comes before `b` in the order of semver.org: "v1.0.0-rc.1",
// "v1.0.0".
bool IsOlder(absl::string_view a, absl::string_view b) {
  const auto split = [](absl::string_view text) {
    text = text.substr(1, text.find('+') - 1);
    const size_t dash = text.find('-');
    return std::pair(text.substr(0, dash), dash == absl::string_view::npos
                                               ? absl::string_view()
                                               : text.substr(dash + 1));
  };
  const auto [left, left_before] = split(a);
  const auto [right, right_before] = split(b);
  if (const int order = CompareLists(left, right); order != 0) {
    return order < 0;
  }
  if (left_before.empty() || right_before.empty()) {
    return !left_before.empty() && right_before.empty();
  }
  return CompareLists(left_before, right_before) < 0;
}

// The newest version whose files have a checksum; empty: there is none.
std::string Newest(const Versions& versions) {
  std::string newest;
  for (const auto& [version, sums] : versions) {
    if (sums.module.empty()) continue;
    if (newest.empty() || IsOlder(newest, version)) newest = version;
  }
  return newest;
}

// Fills in the lock's version if the request has none.
absl::Status FillVersion(const Modules& modules, Library& asked,
                         std::map<std::string, std::string>& chosen) {
  const auto at = chosen.find(asked.name);
  if (at == chosen.end()) {
    return RefuseAsked(asked,
                       "which has no checksum of its files in the lock; take "
                       "go.sum as `go mod tidy` leaves it");
  }
  if (asked.version == "latest") {
    asked.version = at->second;
    return absl::OkStatus();
  }
  const Versions& versions = modules.at(asked.name);
  const auto version = versions.find(asked.version);
  if (version == versions.end() || version->second.module.empty()) {
    return RefuseAsked(asked,
                       absl::StrCat("and the lock has ", Quoted(at->second),
                                    "; ask for that, or for the name "
                                    "alone"));
  }
  at->second = asked.version;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<LibraryLock> ReadGoLock(absl::string_view text,
                                       std::vector<Library>& asked) {
  Modules modules;
  for (const LockLine& line : LockLines(text)) {
    if (absl::Status s = ReadLine(line, modules); !s.ok()) return s;
  }
  if (asked.empty()) {
    return RefuseLock(
        "is go.sum, which doesn't say what a program uses; name that in "
        "libraries too, as in \"golang.org/x/text\"");
  }
  std::map<std::string, std::string> chosen;
  for (const auto& [path, versions] : modules) {
    if (std::string newest = Newest(versions); !newest.empty()) {
      chosen.emplace(path, std::move(newest));
    }
  }
  for (Library& each : asked) {
    if (absl::Status s = FillVersion(modules, each, chosen); !s.ok()) return s;
  }
  // A go.mod like the one a program would have: it lists every module whose
  // files are in the sums, so that go doesn't look for other versions.
  std::string go_mod = "module main\n\ngo 1.19\n\nrequire (\n";
  std::string list;
  std::vector<Library> entries;
  for (const auto& [path, version] : chosen) {
    if (modules.at(path).at(version).go_mod.empty()) {
      return RefuseLock(absl::StrCat("has no checksum of the go.mod of ",
                                     Quoted(absl::StrCat(path, "@", version)),
                                     "; take it as `go mod tidy` leaves it"));
    }
    absl::StrAppend(&go_mod, "\t", path, " ", version, "\n");
    absl::StrAppend(&list, path, "@", version, "\n");
    entries.push_back(
        {.ecosystem = Ecosystem::kGo, .name = path, .version = version});
  }
  absl::StrAppend(&go_mod, ")\n");
  std::string go_sum;
  for (const auto& [path, versions] : modules) {
    for (const auto& [version, sums] : versions) {
      if (!sums.module.empty()) {
        absl::StrAppend(&go_sum, path, " ", version, " ", sums.module, "\n");
      }
      if (!sums.go_mod.empty()) {
        absl::StrAppend(&go_sum, path, " ", version, kGoMod, " ", sums.go_mod,
                        "\n");
      }
    }
  }
  LibraryLock lock;
  lock.files = {{"lock/go.mod", std::move(go_mod)},
                {"lock/go.sum", std::move(go_sum)},
                {"lock/modules", std::move(list)}};
  if (absl::Status set = SetEntries(std::move(entries), lock); !set.ok()) {
    return set;
  }
  return lock;
}

}  // namespace sandglass::policy
