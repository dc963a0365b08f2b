#include "client/mcp/tool_arguments.h"

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/mcp/daemon_tools.h"

namespace sandglass::client {

Json ObjectSchema(Json properties, const std::vector<std::string>& required) {
  Json schema = {{"type", "object"},
                 {"properties", std::move(properties)},
                 {"additionalProperties", false}};
  if (!required.empty()) schema["required"] = required;
  return schema;
}

Json StringSchema(const std::string& description) {
  return {{"type", "string"}, {"minLength", 1}, {"description", description}};
}

Json StringsSchema(const std::string& description) {
  return {{"type", "array"},
          {"items", {{"type", "string"}}},
          {"description", description}};
}

std::string Text(const Json& arguments, const char* name) {
  return arguments.value(name, "");
}

std::vector<std::string> Texts(const Json& arguments, const char* name) {
  return arguments.value(name, std::vector<std::string>());
}

uint64_t Count(const Json& arguments, const char* name) {
  return arguments.value(name, uint64_t{0});
}

absl::Duration Seconds(const Json& arguments, const char* name,
                       absl::Duration otherwise) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? otherwise
                                  : absl::Seconds(found->get<double>());
}

ToolAnswer Refused(std::string text) {
  ToolAnswer answer;
  answer.text = std::move(text);
  answer.is_error = true;
  return answer;
}

ToolAnswer CallToolbox(DaemonLink& link, const ToolboxCall& call) {
  const absl::StatusOr<std::shared_ptr<const DaemonLink::Connection>>
      connection = link.Get();
  if (!connection.ok()) {
    return Refused(absl::StrCat("The daemon that runs code can't be reached: ",
                                connection.status().message()));
  }
  return call((*connection)->toolbox);
}

ToolAnswer CallWithin(DaemonLink& link, const Json& arguments,
                      absl::Duration& timeout, const ToolboxCall& call) {
  timeout = Seconds(arguments, "timeout", kDefaultCallTime);
  if (timeout > kMaxCallTime) {
    return Refused(absl::StrCat(
        "timeout: one call may take ", absl::ToInt64Seconds(kMaxCallTime),
        " s at most. For longer work: create_sandbox, then start_command, and "
        "read_output until it has ended."));
  }
  const absl::Time start = absl::Now();
  ToolAnswer answer = CallToolbox(link, call);
  if (answer.is_error && absl::Now() - start >= timeout) {
    absl::StrAppend(
        &answer.text, "\nThis call gave it ", absl::FormatDuration(timeout),
        ". Work that takes longer than ", absl::ToInt64Seconds(kMaxCallTime),
        " s goes by start_command and read_output.");
  }
  return answer;
}

}  // namespace sandglass::client
