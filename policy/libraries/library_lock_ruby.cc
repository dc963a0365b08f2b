// Reads Gemfile.lock in Bundler's form: sections with lines that are indented
// by two, four and six spaces.
#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "policy/architecture/architecture.h"
#include "policy/libraries/library_lock_syntax.h"
#include "policy/libraries/library_syntax.h"
#include "policy/text/quoted.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr size_t kMaxNeeds = 20000;  // of all gems together
constexpr absl::string_view kNoPlatform = "ruby";

// One archive of a gem: for all platforms, or with compiled code for one of
// them.
using Archive = std::pair<std::string, std::string>;  // version, platform

struct Gem {
  std::map<Archive, size_t> archives;  // with the line that has it
  std::set<std::string> needs;
};

// The parts of "rack (2.2.3)"; the parentheses are optional.
struct Named {
  std::string name;
  std::string inside;
  std::string after;
};

class GemLockReader {
 public:
  absl::Status Read(absl::string_view text) {
    for (const LockLine& line : LockLines(text)) {
      if (absl::Status s = ReadLine(line); !s.ok()) return s;
    }
    if (gems_.empty()) {
      return RefuseLock(
          "has no gem; send Gemfile.lock as `bundle lock` writes it");
    }
    return absl::OkStatus();
  }

  const std::map<std::string, Gem>& gems() const { return gems_; }
  // The names under DEPENDENCIES.
  const std::set<std::string>& asked() const { return asked_; }
  // "-" when there is no checksum.
  std::string SumOf(const std::string& name, const Archive& archive) const {
    const auto at = sums_.find({name, archive});
    return at == sums_.end() ? "-" : at->second;
  }

 private:
  absl::Status ReadLine(const LockLine& line) {
    const absl::string_view text =
        absl::StripTrailingAsciiWhitespace(line.text);
    if (text.empty()) return absl::OkStatus();
    const size_t indent = text.find_first_not_of(' ');
    if (indent == 0) return Enter(line.number, text);
    const absl::string_view rest = text.substr(indent);
    if (section_ == "GEM") {
      if (indent == 4) return ReadGem(line.number, rest);
      if (indent == 6) return ReadNeed(line.number, rest);
      // "remote:", which we must not follow, and "specs:".
      return absl::OkStatus();
    }
    if (section_ == "DEPENDENCIES") return ReadAsked(line.number, rest);
    if (section_ == "CHECKSUMS") return ReadSum(line.number, rest);
    return absl::OkStatus();
  }

  absl::Status Enter(size_t number, absl::string_view section) {
    section_ = std::string(section);
    current_ = nullptr;
    for (const absl::string_view known :
         {"GEM", "DEPENDENCIES", "CHECKSUMS", "PLATFORMS", "RUBY VERSION",
          "BUNDLED WITH"}) {
      if (section == known) return absl::OkStatus();
    }
    for (const absl::string_view elsewhere : {"GIT", "PATH", "PLUGIN SOURCE"}) {
      if (section != elsewhere) continue;
      return RefuseLockLine(
          number, absl::StrCat("begins the section ", section,
                               ", with gems that aren't from a registry; lock "
                               "a Gemfile without them"));
    }
    return RefuseLockLine(number,
                          absl::StrCat("begins a section ", Quoted(section_),
                                       ", which no Gemfile.lock has"));
  }

  absl::StatusOr<Named> Split(size_t number, absl::string_view text) {
    const size_t blank = text.find(' ');
    Named named;
    absl::string_view name = text.substr(0, blank);
    absl::string_view rest =
        blank == absl::string_view::npos ? "" : text.substr(blank + 1);
    if (rest.empty()) absl::ConsumeSuffix(&name, "!");
    const absl::StatusOr<std::string> normal =
        ParseLibraryName(Ecosystem::kRuby, StdView(name));
    if (!normal.ok()) return RefuseLockLine(number, normal.status().message());
    named.name = *normal;
    if (absl::ConsumePrefix(&rest, "(")) {
      const size_t end = rest.find(')');
      if (end == absl::string_view::npos) {
        return RefuseLockLine(number, "has \"(\" without its \")\"");
      }
      named.inside = std::string(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    named.after = std::string(absl::StripAsciiWhitespace(rest));
    return named;
  }

  // Splits "1.16.0-x86_64-linux".
  absl::StatusOr<Archive> SplitVersion(size_t number, const Named& gem) {
    const size_t dash = gem.inside.find('-');
    const std::string version = gem.inside.substr(0, dash);
    const absl::StatusOr<Library> library =
        ParseLibrary(Ecosystem::kRuby, absl::StrCat(gem.name, ":", version));
    const std::string platform = dash == std::string::npos
                                     ? std::string(kNoPlatform)
                                     : gem.inside.substr(dash + 1);
    if (!library.ok() || library->version != version || !IsAlnum(version[0]) ||
        platform.size() > kMaxLibraryName || !IsWordOf(platform, "_-.") ||
        !IsAlnum(platform[0]) || absl::StrContains(platform, "..")) {
      return RefuseLockLine(
          number,
          absl::StrCat("has ", Quoted(gem.inside), " for the version of ",
                       Quoted(gem.name), "; one is as in \"rack (2.2.3)\""));
    }
    return Archive(version, platform);
  }

  absl::Status ReadGem(size_t number, absl::string_view text) {
    const absl::StatusOr<Named> named = Split(number, text);
    if (!named.ok()) return named.status();
    const absl::StatusOr<Archive> archive = SplitVersion(number, *named);
    if (!archive.ok()) return archive.status();
    Gem& gem = gems_[named->name];
    if (!gem.archives.empty() &&
        gem.archives.begin()->first.first != archive->first) {
      return RefuseLockLine(
          number, absl::StrCat("has another version of ", Quoted(named->name),
                               " than a line before it"));
    }
    gem.archives.emplace(*archive, number);
    current_ = &gem;
    return absl::OkStatus();
  }

  absl::Status ReadNeed(size_t number, absl::string_view text) {
    if (current_ == nullptr) {
      return RefuseLockLine(number, "has a need, and no gem is before it");
    }
    const absl::StatusOr<Named> named = Split(number, text);
    if (!named.ok()) return named.status();
    if (current_->needs.insert(named->name).second && ++needs_ > kMaxNeeds) {
      return RefuseLock(absl::StrCat("has gems that need others more than ",
                                     kMaxNeeds, " times"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadAsked(size_t number, absl::string_view text) {
    const absl::StatusOr<Named> named = Split(number, text);
    if (!named.ok()) return named.status();
    asked_.insert(named->name);
    return absl::OkStatus();
  }

  // Reads "rack (2.2.3) sha256=…"; gems from directories have no checksum.
  absl::Status ReadSum(size_t number, absl::string_view text) {
    const absl::StatusOr<Named> named = Split(number, text);
    if (!named.ok()) return named.status();
    const absl::StatusOr<Archive> archive = SplitVersion(number, *named);
    if (!archive.ok()) return archive.status();
    if (named->after.empty()) return absl::OkStatus();
    absl::string_view sum = named->after;
    if (!absl::ConsumePrefix(&sum, "sha256=") || !IsHexOf(sum, 32)) {
      return RefuseLockLine(
          number, absl::StrCat("has ", Quoted(named->after),
                               " for a checksum; one is \"sha256=\" and 64 "
                               "hexadecimal digits"));
    }
    std::string& there = sums_[{named->name, *archive}];
    if (!there.empty() && there != sum) {
      return RefuseLockLine(
          number, absl::StrCat("has another checksum for ", Quoted(named->name),
                               " than a line before it"));
    }
    there = std::string(sum);
    return absl::OkStatus();
  }

  std::map<std::string, Gem> gems_;
  std::set<std::string> asked_;
  std::map<std::pair<std::string, Archive>, std::string> sums_;
  std::string section_;
  Gem* current_ = nullptr;  // whose dependencies come next
  size_t needs_ = 0;
};

bool MayFit(absl::string_view platform) {
  return platform == kNoPlatform || absl::StrContains(platform, "linux");
}

// The names of these gems and of everything that they need.
absl::StatusOr<std::set<std::string>> Closure(
    const std::map<std::string, Gem>& gems, const std::vector<Library>& asked) {
  std::set<std::string> names;
  std::deque<std::string> turn;
  const auto take = [&](const std::string& name) {
    if (gems.count(name) != 0 && names.insert(name).second) {
      turn.push_back(name);
    }
  };
  for (const Library& each : asked) {
    if (gems.count(each.name) == 0) return RefuseNotLocked(each);
    take(each.name);
  }
  while (!turn.empty()) {
    const std::string name = turn.front();
    turn.pop_front();
    for (const std::string& need : gems.at(name).needs) {
      take(need);
      // Bundler isn't in its own lock.
      if (gems.count(need) == 0 && need != "bundler") {
        return RefuseLock(absl::StrCat("has ", Quoted(name), ", which needs ",
                                       Quoted(need),
                                       ", and no such gem; write it anew with "
                                       "`bundle lock`"));
      }
    }
  }
  return names;
}

}  // namespace

absl::StatusOr<LibraryLock> ReadRubyLock(absl::string_view text,
                                         std::vector<Library>& asked) {
  GemLockReader reader;
  if (absl::Status s = reader.Read(text); !s.ok()) return s;
  if (asked.empty()) {
    for (const std::string& name : reader.asked()) {
      if (name == "bundler") continue;
      if (reader.gems().count(name) == 0) {
        return RefuseLock(absl::StrCat("has ", Quoted(name),
                                       " under DEPENDENCIES, and no such gem; "
                                       "write it anew with `bundle lock`"));
      }
      asked.push_back({.ecosystem = Ecosystem::kRuby, .name = name});
    }
    if (asked.empty()) {
      return RefuseLock("has nothing under DEPENDENCIES; name libraries too");
    }
  }
  const absl::StatusOr<std::set<std::string>> names =
      Closure(reader.gems(), asked);
  if (!names.ok()) return names.status();
  std::vector<Library> entries;
  std::string list;
  for (const std::string& name : *names) {
    const Gem& gem = reader.gems().at(name);
    bool fits = false;
    for (const auto& [archive, line] : gem.archives) {
      if (!MayFit(archive.second)) continue;
      fits = true;
      absl::StrAppend(&list, name, " ", archive.first, " ", archive.second, " ",
                      reader.SumOf(name, archive), "\n");
    }
    if (!fits) {
      return RefuseLockLine(
          gem.archives.begin()->second,
          absl::StrCat("has ", Quoted(name),
                       " for other platforms than Linux alone; run `bundle "
                       "lock --add-platform ",
                       kMachine, "-linux`"));
    }
    entries.push_back({.ecosystem = Ecosystem::kRuby,
                       .name = name,
                       .version = gem.archives.begin()->first.first});
  }
  LibraryLock lock;
  lock.files = {{"lock/gems", std::move(list)}};
  if (absl::Status set = SetEntries(std::move(entries), lock); !set.ok()) {
    return set;
  }
  return lock;
}

}  // namespace sandglass::policy
