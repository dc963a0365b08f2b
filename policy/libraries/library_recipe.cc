#include "policy/libraries/library_recipe.h"

#include <cstddef>
#include <string_view>

#include "absl/strings/str_split.h"
#include "re2/re2.h"

namespace sandglass::policy {
namespace {

using Strings = std::vector<std::string>;

// Of the tools' own files; longer lines hold no address.
constexpr size_t kLongestLine = 4096;

// For bytes of any encoding.
RE2::Options ExpressionOptions() {
  RE2::Options options;
  options.set_encoding(RE2::Options::EncodingLatin1);
  options.set_log_errors(false);
  return options;
}

// Whether it is an expression with at least so many groups.
bool IsExpression(const std::string& text, int groups) {
  const RE2 expression(text, ExpressionOptions());
  return expression.ok() && expression.NumberOfCapturingGroups() >= groups;
}

std::vector<RegistryPlace> ReadPlaces(JsonObject& recipe,
                                      std::string_view key) {
  std::vector<RegistryPlace> places;
  for (JsonObject& object : recipe.Objects(key)) {
    RegistryPlace place = {.variable = object.String("variable", ""),
                           .file = object.String("file", ""),
                           .entry = object.String("entry", ""),
                           .element = object.String("element", ""),
                           .pattern = object.String("pattern", ""),
                           .with = object.String("with", ""),
                           .without = object.String("without", ""),
                           .append = object.String("append", "")};
    const bool in_file = !place.file.empty();
    if (place.variable.empty() != in_file) {
      object.AddError("", "expected either \"variable\" or \"file\"");
    } else if (in_file && place.file.front() != '/' &&
               place.file.rfind("~/", 0) != 0) {
      object.AddError("file", "expected an absolute path, or \"~/\" before it");
    } else if (!in_file && !(place.entry + place.element).empty()) {
      object.AddError("", "\"entry\" and \"element\" are parts of a \"file\"");
    } else if ((in_file || !place.pattern.empty()) &&
               !IsExpression(place.pattern, 1)) {
      object.AddError("pattern",
                      "expected a regular expression (RE2) with a group");
    } else if (!IsExpression(place.with, 0)) {
      object.AddError("with", "expected a regular expression (RE2)");
    } else if (!IsExpression(place.without, 0)) {
      object.AddError("without", "expected a regular expression (RE2)");
    }
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace

std::optional<LibraryRecipe> ReadLibraryRecipe(JsonObject& root,
                                               std::string& script) {
  std::optional<JsonObject> object = root.OptionalObject("libraries");
  if (!object) return std::nullopt;
  LibraryRecipe recipe;
  script = object->String("script");
  recipe.needs = object->Strings("needs", Strings());
  recipe.package = object->String("package", "");
  const JsonObject::StringPairs none;
  recipe.env = object->StringMap("env", none);
  recipe.run_env = object->StringMap("run_env", none);
  recipe.compile_env = object->StringMap("compile_env", none);
  recipe.fresh = object->Bool("fresh", false);
  if (object->Has("registry")) {
    recipe.registry = ReadPlaces(*object, "registry");
  }
  if (object->Has("hosts")) recipe.hosts = ReadPlaces(*object, "hosts");
  return recipe;
}

std::optional<std::string> FindInPlace(const RegistryPlace& place,
                                       absl::string_view text) {
  const RE2 pattern(place.pattern, ExpressionOptions());
  const RE2 with(place.with, ExpressionOptions());
  const RE2 without(place.without, ExpressionOptions());
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.size() > kLongestLine) continue;
    const re2::StringPiece bytes(line.data(), line.size());
    if (!RE2::PartialMatch(bytes, with)) continue;
    if (!place.without.empty() && RE2::PartialMatch(bytes, without)) continue;
    std::string value;
    if (RE2::PartialMatch(bytes, pattern, &value) && !value.empty()) {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace sandglass::policy
