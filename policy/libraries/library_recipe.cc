#include "policy/libraries/library_recipe.h"

#include <regex>
#include <string_view>

namespace sandglass::policy {
namespace {

using Strings = std::vector<std::string>;

bool IsExpression(const std::string& text) {
  try {
    return std::regex(text).mark_count() >= 1;
  } catch (const std::regex_error&) {
    return false;
  }
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
               !IsExpression(place.pattern)) {
      object.AddError("pattern",
                      "expected an ECMAScript expression with a group");
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
  if (object->Has("registry"))
    recipe.registry = ReadPlaces(*object, "registry");
  if (object->Has("hosts")) recipe.hosts = ReadPlaces(*object, "hosts");
  return recipe;
}

}  // namespace sandglass::policy
