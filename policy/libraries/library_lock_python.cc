// Reads requirements with versions and hashes, as pip-compile and uv write
// them.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "policy/libraries/library_lock_syntax.h"
#include "policy/libraries/library_marker.h"
#include "policy/libraries/library_syntax.h"
#include "policy/text/quoted.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

// The most files that a package can have for one version.
constexpr size_t kMaxHashes = 1000;

struct Algorithm {
  absl::string_view prefix;
  size_t bytes;
};
// The algorithms that pip accepts.
constexpr Algorithm kAlgorithms[] = {
    {"sha256:", 32}, {"sha384:", 48}, {"sha512:", 64}};

// One requirement: "name[extra]==1.2 ; marker --hash=…".
struct Pin {
  Library library;
  std::string marker;
  std::vector<std::string> hashes;  // sorted, each once
  size_t line = 0;

  auto Key() const {
    return std::tie(library.name, library.version, library.extras, marker);
  }
  std::string Condition() const {
    return marker.empty() ? "" : absl::StrCat(" ; ", marker);
  }
};

// Removes comments and joins lines that "\" continues.
std::vector<LockLine> LogicalLines(absl::string_view text) {
  std::vector<LockLine> lines;
  bool continues = false;
  for (LockLine& line : LockLines(text)) {
    absl::string_view rest = absl::StripLeadingAsciiWhitespace(line.text);
    const bool comment = absl::StartsWith(rest, "#");
    if (comment && continues) continue;
    rest = comment ? "" : rest.substr(0, rest.find(" #"));
    rest = absl::StripTrailingAsciiWhitespace(rest);
    const bool goes_on = absl::EndsWith(rest, "\\");
    if (goes_on) rest.remove_suffix(1);
    if (continues) {
      absl::StrAppend(&lines.back().text, " ", rest);
    } else {
      lines.push_back({line.number, std::string(rest)});
    }
    continues = goes_on;
  }
  return lines;
}

absl::Status ReadHashes(absl::string_view text, Pin& pin) {
  for (const absl::string_view word :
       absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    absl::string_view hash = word;
    if (!absl::ConsumePrefix(&hash, "--hash=")) {
      return RefuseLockLine(
          pin.line, absl::StrCat("has ", Quoted(std::string(word)),
                                 ", and --hash=sha256:… alone may follow a "
                                 "requirement; leave it out"));
    }
    const bool known = std::any_of(
        std::begin(kAlgorithms), std::end(kAlgorithms),
        [hash](const Algorithm& each) {
          return absl::StartsWith(hash, each.prefix) &&
                 IsHexOf(hash.substr(each.prefix.size()), each.bytes);
        });
    if (!known) {
      return RefuseLockLine(
          pin.line, absl::StrCat("has ", Quoted(std::string(word)),
                                 ", which is no checksum; write one as in "
                                 "--hash=sha256:… with 64 hexadecimal digits"));
    }
    pin.hashes.emplace_back(hash);
  }
  std::sort(pin.hashes.begin(), pin.hashes.end());
  pin.hashes.erase(std::unique(pin.hashes.begin(), pin.hashes.end()),
                   pin.hashes.end());
  if (pin.hashes.size() > kMaxHashes) {
    return RefuseLockLine(pin.line, absl::StrCat("has ", pin.hashes.size(),
                                                 " checksums; at most ",
                                                 kMaxHashes, " are taken"));
  }
  if (!pin.hashes.empty()) return absl::OkStatus();
  return RefuseLockLine(
      pin.line,
      absl::StrCat(Quoted(pin.library.ToArgument()),
                   " has no checksum; write the lock with `pip-compile "
                   "--generate-hashes` or `uv export`"));
}

absl::Status ReadRequirement(absl::string_view text, Pin& pin) {
  const size_t semicolon = text.find(';');
  const absl::string_view requirement =
      absl::StripAsciiWhitespace(text.substr(0, semicolon));
  absl::StatusOr<Library> library =
      ParseLibrary(Ecosystem::kPython, StdView(requirement));
  if (!library.ok()) {
    return RefuseLockLine(pin.line, library.status().message());
  }
  pin.library = *std::move(library);
  const absl::string_view version = pin.library.version;
  if (!absl::StartsWith(version, "==") || absl::StartsWith(version, "===") ||
      absl::StrContains(version, ",") || absl::EndsWith(version, "*")) {
    return RefuseLockLine(
        pin.line, absl::StrCat(Quoted(std::string(requirement)),
                               " isn't locked to one version; a lock has it as "
                               "in \"six==1.16.0\""));
  }
  if (semicolon == absl::string_view::npos) return absl::OkStatus();
  absl::StatusOr<std::string> marker = NormalMarker(text.substr(semicolon + 1));
  if (!marker.ok()) {
    return RefuseLockLine(pin.line,
                          absl::StrCat(Quoted(pin.library.ToArgument()), " ",
                                       marker.status().message()));
  }
  pin.marker = *std::move(marker);
  return absl::OkStatus();
}

absl::StatusOr<Pin> ReadPin(const LockLine& line) {
  const absl::string_view text = line.text;
  if (text[0] == '-') {
    return RefuseLockLine(
        line.number,
        absl::StrCat(Quoted(line.text.substr(0, line.text.find_first_of(" ="))),
                     " is an option; where libraries come from is the "
                     "daemon's to say: a lock has versions and --hash alone"));
  }
  Pin pin;
  pin.line = line.number;
  const size_t options = text.find(" --");
  absl::Status read = ReadRequirement(text.substr(0, options), pin);
  if (read.ok()) {
    read = ReadHashes(
        options == absl::string_view::npos ? "" : text.substr(options), pin);
  }
  if (!read.ok()) return read;
  return pin;
}

absl::StatusOr<std::vector<Pin>> ReadPins(absl::string_view text) {
  std::vector<Pin> pins;
  for (const LockLine& line : LogicalLines(text)) {
    if (absl::StripAsciiWhitespace(line.text).empty()) continue;
    absl::StatusOr<Pin> pin = ReadPin(line);
    if (!pin.ok()) return pin.status();
    pins.push_back(*std::move(pin));
  }
  std::stable_sort(pins.begin(), pins.end(), [](const Pin& a, const Pin& b) {
    return a.Key() < b.Key();
  });
  for (size_t i = 1; i < pins.size(); ++i) {
    if (pins[i].Key() != pins[i - 1].Key()) continue;
    return RefuseLockLine(
        pins[i].line, absl::StrCat("has ", Quoted(pins[i].library.ToArgument()),
                                   " again, as line ", pins[i - 1].line,
                                   "; a lock has it once"));
  }
  return pins;
}

// One library for each name, with its version if that is the same on every
// platform.
std::vector<Library> AllOf(const std::vector<Pin>& pins) {
  std::map<std::string, Library> all;
  for (const Pin& pin : pins) {
    const auto [at, is_new] = all.emplace(pin.library.name, pin.library);
    Library& library = at->second;
    if (is_new) continue;
    if (library.version != pin.library.version) library.version.clear();
    library.extras.insert(library.extras.end(), pin.library.extras.begin(),
                          pin.library.extras.end());
    std::sort(library.extras.begin(), library.extras.end());
    library.extras.erase(
        std::unique(library.extras.begin(), library.extras.end()),
        library.extras.end());
  }
  std::vector<Library> libraries;
  libraries.reserve(all.size());
  for (auto& [name, library] : all) libraries.push_back(std::move(library));
  return libraries;
}

}  // namespace

absl::StatusOr<LibraryLock> ReadPythonLock(absl::string_view text,
                                           std::vector<Library>& asked) {
  absl::StatusOr<std::vector<Pin>> pins = ReadPins(text);
  if (!pins.ok()) return pins.status();
  LibraryLock lock;
  std::vector<Library> entries;
  std::string hashed;  // what may be downloaded
  std::string pinned;  // constraints for it, without extras
  std::string wanted;
  for (const Pin& pin : *pins) {
    entries.push_back(pin.library);
    const std::string line =
        absl::StrCat(pin.library.ToArgument(), pin.Condition());
    absl::StrAppend(&wanted, line, "\n");
    absl::StrAppend(&hashed, line,
                    " --hash=", absl::StrJoin(pin.hashes, " --hash="), "\n");
    absl::StrAppend(&pinned, pin.library.name, pin.library.version,
                    pin.Condition(), "\n");
  }
  if (absl::Status set = SetEntries(std::move(entries), lock); !set.ok()) {
    return set;
  }
  lock.files = {{"lock/hashes.txt", std::move(hashed)},
                {"lock/versions.txt", std::move(pinned)}};
  for (const Library& each : asked) {
    const auto same = [&each](const Library& entry) {
      return entry.name == each.name;
    };
    if (std::none_of(lock.entries.begin(), lock.entries.end(), same)) {
      return RefuseNotLocked(each);
    }
  }
  if (asked.empty()) {
    asked = AllOf(*pins);
    lock.files.push_back({"lock/all.txt", std::move(wanted)});
  }
  return lock;
}

}  // namespace sandglass::policy
