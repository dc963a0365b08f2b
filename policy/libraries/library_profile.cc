#include "policy/libraries/library_profile.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "policy/text/quoted.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr char kKey[] = "libraries";

std::vector<LibraryPattern> ReadPatterns(JsonObject& rules, Ecosystem ecosystem,
                                         const std::string& key) {
  std::vector<LibraryPattern> patterns;
  const std::vector<std::string> texts = rules.Strings(key);
  if (texts.size() > kMaxLibraryPatterns) {
    rules.AddError(key, absl::StrCat("has ", texts.size(), " entries; at most ",
                                     kMaxLibraryPatterns, " are taken"));
    return patterns;
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string pointer = absl::StrCat(rules.Pointer(key), "/", i);
    absl::StatusOr<LibraryPattern> pattern =
        LibraryPattern::Parse(ecosystem, texts[i]);
    if (!pattern.ok()) {
      const absl::string_view message = pattern.status().message();
      rules.AddErrorAt(pointer, StdView(message));
      continue;
    }
    const bool twice = std::any_of(
        patterns.begin(), patterns.end(), [&](const LibraryPattern& other) {
          return other.is_prefix() == pattern->is_prefix() &&
                 other.library().name == pattern->library().name;
        });
    if (twice) {
      rules.AddErrorAt(pointer, absl::StrCat(Quoted(texts[i]),
                                             " has a name that is there "
                                             "already; name it once"));
    }
    patterns.push_back(*std::move(pattern));
  }
  return patterns;
}

LibraryRules ReadRules(JsonObject& object, Ecosystem ecosystem) {
  LibraryRules rules;
  if (object.Has("allow")) {
    rules.any = false;
    rules.allow = ReadPatterns(object, ecosystem, "allow");
    if (object.Strings("allow").empty()) {
      object.AddError("allow",
                      "is empty, so nothing could be asked for; leave the "
                      "language out, or \"allow\" to mean all");
    }
  }
  if (object.Has("deny")) rules.deny = ReadPatterns(object, ecosystem, "deny");
  for (const LibraryPattern& pattern : rules.deny) {
    if (pattern.library().version.empty() && pattern.library().extras.empty()) {
      continue;
    }
    object.AddError("deny", absl::StrCat(Quoted(pattern.ToString()),
                                         " has more than a name; write ",
                                         Quoted(pattern.library().name)));
  }
  for (const LibraryPattern& pattern : rules.allow) {
    if (pattern.library().extras.empty()) continue;
    object.AddError("allow", absl::StrCat(Quoted(pattern.ToString()),
                                          " has extras, which a name allows "
                                          "anyway; leave them out"));
  }
  rules.offline = object.Bool("offline", false);
  return rules;
}

}  // namespace

LibraryPolicy ReadLibraries(JsonObject& profile, const std::string& name) {
  LibraryPolicy policy;
  policy.profile = name;
  if (profile.IsString(kKey)) {
    if (profile.String(kKey) != "none") {
      profile.AddError(kKey,
                       "expected \"none\", or an object such as {\"python\": "
                       "{\"allow\": [\"numpy\"]}}");
    }
    return policy;
  }
  std::optional<JsonObject> object = profile.OptionalObject(kKey);
  if (!object) return policy;
  for (const Ecosystem ecosystem : kEcosystems) {
    std::optional<JsonObject> rules =
        object->OptionalObject(EcosystemName(ecosystem));
    if (rules) policy.rules[ecosystem] = ReadRules(*rules, ecosystem);
  }
  return policy;
}

}  // namespace sandglass::policy
