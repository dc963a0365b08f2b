// Paths, globs and placeholders. The input is a pattern and a path, each with
// its length in two bytes before it.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "policy/language/placeholders.h"
#include "policy/text/paths.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::policy {
namespace {

std::vector<std::string_view> Split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t from = 0;;) {
    const size_t slash = text.find('/', from);
    parts.push_back(text.substr(from, slash - from));
    if (slash == std::string_view::npos) return parts;
    from = slash + 1;
  }
}

// By its text alone, a path that passes stays below its base.
void CheckBeneath(const std::string& path) {
  FUZZ_CHECK(!path.empty() && path.size() <= kMaxPathBytes);
  FUZZ_CHECK(path.find('\0') == std::string::npos);
  const std::filesystem::path whole =
      (std::filesystem::path("/base") / path).lexically_normal();
  FUZZ_CHECK(whole.string().rfind("/base/", 0) == 0);
  FUZZ_CHECK(whole.string() == "/base/" + path);
  const auto parts = Split(path);
  FUZZ_CHECK(parts.size() <= kMaxPathSegments);
  for (const std::string_view part : parts) {
    FUZZ_CHECK(!part.empty() && part.size() <= kMaxNameBytes);
  }
}

bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c > 0x20 && c < 0x7f && c != '[' && c != ']';
  });
}

// What the header promises of ASCII without brackets, by plain recursion.
bool NameMatches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] == '*') {
    return NameMatches(pattern.substr(1), name) ||
           (!name.empty() && NameMatches(pattern, name.substr(1)));
  }
  return !name.empty() && (pattern[0] == '?' || pattern[0] == name[0]) &&
         NameMatches(pattern.substr(1), name.substr(1));
}

using Parts = std::vector<std::string_view>;

bool PartsMatch(const Parts& pattern, size_t p, const Parts& path, size_t n) {
  if (p == pattern.size()) return n == path.size();
  if (pattern[p] == "**") {
    return PartsMatch(pattern, p + 1, path, n) ||
           (n < path.size() && PartsMatch(pattern, p, path, n + 1));
  }
  return n < path.size() && NameMatches(pattern[p], path[n]) &&
         PartsMatch(pattern, p + 1, path, n + 1);
}

void CheckGlob(const std::string& pattern, const std::string& path) {
  const auto began = std::chrono::steady_clock::now();
  const bool matches = GlobMatch(pattern, path);
  const auto took = std::chrono::steady_clock::now() - began;
  // 512 by 4096 characters, with the sanitizers, on a machine that is busy.
  FUZZ_CHECK(took < std::chrono::seconds(2));
  const bool valid = ValidateGlob(pattern).ok();
  FUZZ_CHECK(valid || !matches);
  if (!valid) return;
  CheckBeneath(pattern);
  FUZZ_CHECK(GlobMatch("**", path) || path.empty() || path.front() == '/' ||
             path.back() == '/' || path.size() > 4096);
  if (!IsGlob(pattern)) {
    // Stands for itself and for nothing else.
    FUZZ_CHECK(GlobMatch(pattern, pattern));
    FUZZ_CHECK(matches == (pattern == path));
  }
  if (!IsPlain(pattern) || !IsPlain(path) || !ValidateRelativePath(path).ok() ||
      path.size() > 24 || pattern.size() > 12) {
    return;
  }
  FUZZ_CHECK(matches == PartsMatch(Split(pattern), 0, Split(path), 0));
}

void CheckPlaceholderText(const std::string& text) {
  PlaceholderValues values;
  values.source = "main.py";
  values.sources = {"main.py", "a.py"};
  values.jvm_network = {"-Da=b"};
  values.prepared = "/prepared";
  for (const PlaceholderUse use :
       {PlaceholderUse::kCommand, PlaceholderUse::kWithSource,
        PlaceholderUse::kAhead, PlaceholderUse::kWithoutCode}) {
    if (!CheckPlaceholders(text, use).empty()) continue;
    const std::vector<std::string> words = ExpandCommand({text}, values);
    if (text == "${sources}" || text == "${jvm_network}") {
      FUZZ_CHECK(words ==
                 (text == "${sources}" ? values.sources : values.jvm_network));
      continue;
    }
    FUZZ_CHECK(words.size() == 1);
    FUZZ_CHECK((text.find("${") != std::string::npos) || words[0] == text);
    // What it expands to has nothing left to expand.
    FUZZ_CHECK(words[0].find("${") == std::string::npos);
    FUZZ_CHECK((use != PlaceholderUse::kWithoutCode &&
                use != PlaceholderUse::kAhead) ||
               text.find("${source") == std::string::npos);
  }
}

}  // namespace
}  // namespace sandglass::policy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace policy = sandglass::policy;
  sandglass::fuzz::Input input(data, size);
  const std::string pattern = input.LongText();
  const std::string path = input.LongText();
  for (const std::string& text : {pattern, path}) {
    if (policy::ValidateRelativePath(text).ok()) policy::CheckBeneath(text);
  }
  policy::CheckGlob(pattern, path);
  policy::CheckPlaceholderText(pattern);
  return 0;
}
