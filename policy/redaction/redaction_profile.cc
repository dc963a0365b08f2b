#include "policy/redaction/redaction_profile.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/text/names.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr char kNameRule[] =
    "names match [a-z][a-z0-9-]* and have at most 32 characters";

std::string GivenTwice(const std::string& name) {
  return absl::StrCat("\"", name, "\" is given twice");
}

// Returns nothing after an error.
std::optional<RedactionPattern> ReadPattern(JsonObject& object) {
  const std::string text = object.String("pattern");
  // A missing key has been reported already.
  if (text.empty() && !object.Has("pattern")) return std::nullopt;
  absl::StatusOr<RedactionPattern> pattern = RedactionPattern::Compile(text);
  if (pattern.ok()) return *std::move(pattern);
  const absl::string_view message = pattern.status().message();
  object.AddError("pattern", StdView(message));
  return std::nullopt;
}

bool Matches(const RedactionPattern& pattern, const std::string& text) {
  const auto redactor = Redactor::Create({{"example", pattern}});
  RedactionCounts counts;
  if (redactor.ok()) (void)(*redactor)->Redact(text, &counts);
  return !counts.empty();
}

std::string WhyUnknown(const std::string& name, const RedactionList& known) {
  const std::vector<std::string> names = known.Names();
  const std::string begin = absl::StrCat("there is no pattern \"", name, "\"");
  if (names.empty()) {
    return absl::StrCat(begin,
                        "; redaction.json, which has the named ones, is "
                        "missing or empty");
  }
  const std::string nearest = NearestWord(name, names);
  if (nearest.empty()) {
    return absl::StrCat(begin, "; there are ", absl::StrJoin(names, ", "));
  }
  return absl::StrCat(begin, "; did you mean \"", nearest, "\"?");
}

void ReadNamed(JsonObject& redaction, const RedactionList& known,
               std::vector<Redactor::Pattern>& patterns) {
  const std::vector<std::string> names =
      redaction.Strings("patterns", std::vector<std::string>());
  for (auto name = names.begin(); name != names.end(); ++name) {
    const std::string pointer =
        absl::StrCat(redaction.Pointer("patterns"), "/", name - names.begin());
    const RedactionList::Entry* entry = known.Find(*name);
    if (entry == nullptr) {
      redaction.AddErrorAt(pointer, WhyUnknown(*name, known));
    } else if (std::find(names.begin(), name, *name) != name) {
      redaction.AddErrorAt(pointer, GivenTwice(*name));
    } else {
      patterns.push_back({entry->name, entry->pattern});
    }
  }
}

void ReadCustom(JsonObject& redaction, const RedactionList& known,
                std::vector<Redactor::Pattern>& patterns) {
  if (!redaction.Has("custom")) return;
  std::vector<std::string> names;
  for (JsonObject& custom : redaction.Objects("custom")) {
    std::string name = custom.String("name");
    if (custom.Has("name") && !IsPolicyName(name)) {
      custom.AddError("name", kNameRule);
    } else if (known.Find(name) != nullptr) {
      custom.AddError("name", absl::StrCat("\"", name,
                                           "\" is a shipped pattern's name; "
                                           "it goes into \"patterns\""));
    } else if (std::find(names.begin(), names.end(), name) != names.end()) {
      custom.AddError("name", GivenTwice(name));
    }
    names.push_back(name);
    if (auto pattern = ReadPattern(custom)) {
      patterns.push_back({std::move(name), *std::move(pattern)});
    }
  }
}

}  // namespace

absl::StatusOr<RedactionList> RedactionList::Load(const std::string& path) {
  absl::StatusOr<JsonDocument> document = JsonDocument::ReadFile(path);
  if (!document.ok()) return document.status();
  JsonObject root = document->root();
  RedactionList list;
  for (JsonObject& object : root.Objects("patterns")) {
    const std::string name = object.String("name");
    const std::string description = object.String("description");
    if (object.Has("name") && !IsPolicyName(name)) {
      object.AddError("name", kNameRule);
    } else if (list.Find(name) != nullptr) {
      object.AddError("name", GivenTwice(name));
    }
    if (object.Has("description") && description.empty()) {
      object.AddError("description", "is empty; say what it finds");
    }
    const std::string example = absl::StrJoin(object.Strings("example"), "");
    std::optional<RedactionPattern> pattern = ReadPattern(object);
    if (!pattern) continue;
    if (!Matches(*pattern, example)) {
      object.AddError("example", "the pattern doesn't match it");
    }
    list.entries_.push_back({name, description, *std::move(pattern), example});
  }
  if (absl::Status status = document->Finish(); !status.ok()) return status;
  return list;
}

const RedactionList::Entry* RedactionList::Find(std::string_view name) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(),
                   [name](const Entry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

std::vector<std::string> RedactionList::Names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const Entry& entry : entries_) names.push_back(entry.name);
  return names;
}

std::shared_ptr<const Redactor> ReadRedaction(JsonObject& profile,
                                              const RedactionList& known) {
  std::optional<JsonObject> redaction = profile.OptionalObject("redaction");
  if (!redaction) return nullptr;
  std::vector<Redactor::Pattern> patterns;
  ReadNamed(*redaction, known, patterns);
  ReadCustom(*redaction, known, patterns);
  if (patterns.empty()) return nullptr;
  absl::StatusOr<std::shared_ptr<const Redactor>> redactor =
      Redactor::Create(std::move(patterns));
  if (redactor.ok()) return *std::move(redactor);
  const absl::string_view message = redactor.status().message();
  redaction->AddError("", StdView(message));
  return nullptr;
}

}  // namespace sandglass::policy
