#include "client/mcp/tool_table.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/terminal_filter.h"

namespace sandglass::client {
namespace {

// A number without a fraction is an integer, however it was written, within the
// range in which all writers of JSON agree on its value.
bool IsInteger(const Json& value) {
  constexpr double kMax = 9007199254740991;  // 2^53 - 1
  return value.is_number() && std::abs(value.get<double>()) <= kMax &&
         std::trunc(value.get<double>()) == value.get<double>();
}

bool IsStrings(const Json& value) {
  return value.is_array() &&
         std::all_of(value.begin(), value.end(),
                     [](const Json& each) { return each.is_string(); });
}

// For example "a string" when the value isn't one; otherwise empty.
std::string TypeWanted(const std::string& type, const Json& value) {
  if (type == "string") return value.is_string() ? "" : "a string";
  if (type == "integer") return IsInteger(value) ? "" : "an integer";
  if (type == "number") return value.is_number() ? "" : "a number";
  if (type == "boolean") return value.is_boolean() ? "" : "true or false";
  return IsStrings(value) ? "" : "an array of strings";
}

std::string CheckOne(const std::string& name, const Json& schema,
                     const Json& value) {
  const std::string wanted = TypeWanted(schema.value("type", ""), value);
  if (!wanted.empty()) {
    return absl::StrCat(name, " must be ", wanted, ", not ",
                        value.is_number() ? "a number" : value.type_name());
  }
  if (value.is_number()) {
    const double number = value.get<double>();
    const auto minimum = schema.find("minimum");
    if (minimum != schema.end() && number < minimum->get<double>()) {
      return absl::StrCat(name, " must be ", minimum->dump(), " or more");
    }
    const auto maximum = schema.find("maximum");
    if (maximum != schema.end() && number > maximum->get<double>()) {
      return absl::StrCat(name, " must be ", maximum->dump(), " or less");
    }
  }
  if (value.is_string() && value.get_ref<const std::string&>().empty() &&
      schema.value("minLength", 0) > 0) {
    return absl::StrCat(name, " must not be empty");
  }
  return "";
}

std::string Names(const Json& properties) {
  std::vector<std::string> names;
  for (const auto& each : properties.items()) names.push_back(each.key());
  return names.empty() ? "no arguments" : absl::StrJoin(names, ", ");
}

}  // namespace

const McpTool* ToolTable::Find(const std::string& name) const {
  for (const McpTool& tool : tools) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

std::string CheckArguments(const Json& schema, const Json& arguments) {
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, value] : arguments.items()) {
    const auto property = properties.find(name);
    if (property == properties.end()) {
      return absl::StrCat("there is no argument '", VisibleText(name),
                          "'; this tool takes ", Names(properties));
    }
    if (value.is_null()) continue;
    std::string problem = CheckOne(name, *property, value);
    if (!problem.empty()) return problem;
  }
  for (const Json& name : schema.value("required", Json::array())) {
    const auto found = arguments.find(name.get<std::string>());
    if (found == arguments.end() || found->is_null()) {
      return absl::StrCat("the argument ", name.get<std::string>(),
                          " is missing");
    }
  }
  return "";
}

}  // namespace sandglass::client
