#include "policy/libraries/library_lock.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "policy/libraries/library_lock_syntax.h"
#include "policy/libraries/library_syntax.h"
#include "policy/text/quoted.h"

namespace sandglass::policy {
namespace {

constexpr absl::string_view kField = "library_lock";

absl::Status CheckText(absl::string_view text) {
  if (text.size() > kMaxLockBytes) {
    return RefuseLock(absl::StrCat(
        "has ", text.size(), " bytes; a lock file may have ", kMaxLockBytes));
  }
  size_t line = 1;
  for (const char c : text) {
    if (c == '\n') ++line;
    if ((c >= 0x20 && c <= 0x7e) || c == '\n' || c == '\r' || c == '\t') {
      continue;
    }
    return RefuseLockLine(
        line, static_cast<unsigned char>(c) >= 0x80
                  ? "has a character that isn't ASCII; leave it out, or the "
                    "comment that it is in"
                  : "has a control character; leave it out");
  }
  return absl::OkStatus();
}

absl::StatusOr<LibraryLock> Read(Ecosystem ecosystem, absl::string_view text,
                                 std::vector<Library>& asked) {
  switch (ecosystem) {
    case Ecosystem::kPython:
      return ReadPythonLock(text, asked);
    case Ecosystem::kNode:
      return ReadNodeLock(text, asked);
    case Ecosystem::kGo:
      return ReadGoLock(text, asked);
    case Ecosystem::kRuby:
      return ReadRubyLock(text, asked);
    case Ecosystem::kJava:
      break;
  }
  return RefuseLock(
      "is for languages whose tool has lock files, and Maven has none; name "
      "each library with its version in libraries instead");
}

}  // namespace

absl::Status RefuseLock(absl::string_view words) {
  return absl::InvalidArgumentError(absl::StrCat(kField, " ", words));
}

absl::Status RefuseLockLine(size_t line, absl::string_view words) {
  return absl::InvalidArgumentError(
      absl::StrCat(kField, ", line ", line, ": ", words));
}

absl::Status RefuseAsked(const Library& asked, absl::string_view words) {
  return absl::InvalidArgumentError(absl::StrCat(
      "libraries names ", Quoted(asked.ToArgument()), ", ", words));
}

absl::Status RefuseNotLocked(const Library& asked) {
  return RefuseAsked(
      asked, "which isn't in the lock; lock it too, or leave the lock out");
}

std::vector<LockLine> LockLines(absl::string_view text) {
  std::vector<LockLine> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    while (absl::EndsWith(line, "\r")) line.remove_suffix(1);
    lines.push_back({lines.size() + 1,
                     absl::StrReplaceAll(line, {{"\t", " "}, {"\r", " "}})});
  }
  return lines;
}

bool IsBase64Of(absl::string_view text, size_t bytes) {
  const size_t padding = (3 - bytes % 3) % 3;
  if (text.size() != (bytes + 2) / 3 * 4) return false;
  const absl::string_view end = text.substr(text.size() - padding);
  return IsWordOf(text.substr(0, text.size() - padding), "+/") &&
         std::all_of(end.begin(), end.end(), [](char c) { return c == '='; });
}

bool IsHexOf(absl::string_view text, size_t bytes) {
  return text.size() == bytes * 2 &&
         text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

absl::Status SetEntries(std::vector<Library> entries, LibraryLock& lock) {
  std::sort(entries.begin(), entries.end(),
            [](const Library& a, const Library& b) {
              return std::tie(a.name, a.version, a.extras) <
                     std::tie(b.name, b.version, b.extras);
            });
  entries.erase(std::unique(entries.begin(), entries.end()), entries.end());
  if (entries.empty()) return RefuseLock("has no library in it");
  if (entries.size() > kMaxLockEntries) {
    return RefuseLock(absl::StrCat("has ", entries.size(),
                                   " libraries; at most ", kMaxLockEntries,
                                   " are taken"));
  }
  lock.entries = std::move(entries);
  return absl::OkStatus();
}

absl::StatusOr<LibrarySet> ParseLibraryRequest(
    Ecosystem ecosystem, const std::vector<std::string>& libraries,
    std::string_view lock) {
  absl::StatusOr<LibrarySet> named = LibrarySet::Parse(ecosystem, libraries);
  if (!named.ok() || lock.empty()) return named;
  const absl::string_view text(lock.data(), lock.size());
  if (absl::Status status = CheckText(text); !status.ok()) return status;
  std::vector<Library> asked = named->libraries();
  absl::StatusOr<LibraryLock> read = Read(ecosystem, text, asked);
  if (!read.ok()) return read.status();
  return LibrarySet::Make(
      ecosystem, std::move(asked),
      std::make_shared<const LibraryLock>(*std::move(read)));
}

std::string_view LibraryErrorField(const absl::Status& error) {
  return absl::StartsWith(error.message(), kField) ? "library_lock"
                                                   : "libraries";
}

std::vector<LockFile> LockFiles(const LibrarySet& set) {
  if (set.lock() == nullptr) return {};
  return set.ecosystem() == Ecosystem::kNode ? NodeLockFiles(set)
                                             : set.lock()->files;
}

}  // namespace sandglass::policy
