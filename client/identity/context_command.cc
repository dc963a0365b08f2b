#include "client/identity/context_command.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/base/text_table.h"
#include "client/base/utf8_check.h"
#include "client/connection/address.h"
#include "client/connection/contexts.h"
#include "client/connection/daemon.h"
#include "client/connection/token.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {
namespace {

using Json = nlohmann::ordered_json;

std::string JsonLine(const Json& json) {
  return absl::StrCat(json.dump(-1, ' ', false, Json::error_handler_t::replace),
                      "\n");
}

Json JsonOf(const std::string& name, const Endpoint& endpoint, bool in_use) {
  Json json = {{"name", name}, {"address", endpoint.address}};
  const std::pair<const char*, const std::string&> files[] = {
      {"ca", endpoint.ca},
      {"cert", endpoint.cert},
      {"key", endpoint.key},
      {"token_file", endpoint.token_file}};
  for (const auto& [field, value] : files) {
    if (!value.empty()) json[field] = value;
  }
  json["in_use"] = in_use;
  return json;
}

int List(const Contexts& contexts, bool as_json) {
  Json all = Json::array();
  std::vector<std::vector<std::string>> rows = {
      {"IN USE", "NAME", "ADDRESS", "BY"}};
  for (const auto& [name, endpoint] : contexts.by_name) {
    const bool in_use = name == contexts.current;
    all.push_back(JsonOf(name, endpoint, in_use));
    std::string by = endpoint.token_file.empty() ? "" : "token";
    if (!endpoint.cert.empty()) {
      absl::StrAppend(&by, by.empty() ? "" : ",", "certificate");
    }
    rows.push_back(
        {in_use ? "*" : "", name, endpoint.address, by.empty() ? "-" : by});
  }
  if (as_json) return PrintText(JsonLine({{"contexts", std::move(all)}}));
  return PrintText(TextTable(rows, ""));
}

int Show(const Contexts& contexts, const std::string& name, bool as_json) {
  const Endpoint& endpoint = contexts.by_name.at(name);
  const Json json = JsonOf(name, endpoint, name == contexts.current);
  if (as_json) return PrintText(JsonLine(json));
  std::vector<std::vector<std::string>> rows;
  for (const auto& [field, value] : json.items()) {
    rows.push_back({field == "in_use" ? "in use" : field,
                    value.is_string() ? value.get<std::string>()
                                      : (value.get<bool>() ? "yes" : "no")});
  }
  return PrintText(TextTable(rows, ""));
}

// What the flags say, with paths that are good from every directory.
absl::StatusOr<Endpoint> FromFlags(const EndpointFlags& flags) {
  if (flags.context) {
    return absl::InvalidArgumentError(
        "--context has no meaning for context add; the name stands behind add");
  }
  if (!flags.address) {
    return absl::InvalidArgumentError("give the daemon with --address");
  }
  Endpoint endpoint(*flags.address);
  if (const auto address = ParseAddress(endpoint.address); !address.ok()) {
    return address.status();
  }
  if (flags.cert.has_value() != flags.key.has_value()) {
    return absl::InvalidArgumentError("--cert and --key are good together");
  }
  struct Field {
    const char* flag;
    const std::optional<std::string>& from;
    std::string& to;
  };
  const Field fields[] = {
      {"--ca", flags.ca, endpoint.ca},
      {"--cert", flags.cert, endpoint.cert},
      {"--key", flags.key, endpoint.key},
      {"--token-file", flags.token_file, endpoint.token_file}};
  for (const Field& field : fields) {
    if (!field.from) continue;
    if (absl::Status text = CheckUtf8(field.flag, *field.from); !text.ok()) {
      return text;
    }
    std::error_code error;
    field.to = std::filesystem::absolute(*field.from, error).string();
    if (!error && std::filesystem::exists(field.to, error)) continue;
    return absl::NotFoundError(absl::StrCat(field.flag, " ",
                                            VisibleFileName(*field.from),
                                            ": there is no such file"));
  }
  return endpoint;
}

absl::Status Change(const EndpointFlags& flags, const ContextOptions& options,
                    Contexts& contexts) {
  using Act = ContextOptions::Act;
  if (options.act == Act::kAdd) {
    if (absl::Status name = CheckContextName(options.name); !name.ok()) {
      return name;
    }
    absl::StatusOr<Endpoint> endpoint = FromFlags(flags);
    if (!endpoint.ok()) return endpoint.status();
    if (!contexts.by_name.emplace(options.name, *std::move(endpoint)).second) {
      return absl::AlreadyExistsError(
          absl::StrCat("there is a context '", options.name,
                       "' already; forget it with: sandglass context remove ",
                       options.name));
    }
  } else if (options.act == Act::kUse) {
    contexts.current = options.name;
  } else {
    contexts.by_name.erase(options.name);
    if (contexts.current == options.name) contexts.current.clear();
  }
  return WriteContexts(ContextsPath(EnvironmentVariable), contexts);
}

}  // namespace

int ContextCommand(const EndpointFlags& flags, const ContextOptions& options) {
  using Act = ContextOptions::Act;
  absl::StatusOr<Contexts> contexts =
      ReadContexts(ContextsPath(EnvironmentVariable));
  if (!contexts.ok()) return Fail(contexts.status());
  if (options.act == Act::kList) return List(*contexts, options.json);
  const std::string name = options.act == Act::kShow && options.name.empty()
                               ? contexts->current
                               : options.name;
  if (name.empty()) {
    return Fail(absl::NotFoundError(
        "no context is in use; sandglass context list shows them"));
  }
  if (options.act != Act::kAdd && contexts->by_name.count(name) == 0) {
    return Fail(absl::NotFoundError(
        absl::StrCat("there is no context '", VisibleText(name),
                     "'; sandglass context list shows them")));
  }
  if (options.act == Act::kShow) return Show(*contexts, name, options.json);
  if (const absl::Status changed = Change(flags, options, *contexts);
      !changed.ok()) {
    return Fail(changed);
  }
  if (options.json) return List(*contexts, true);
  switch (options.act) {
    case Act::kAdd:
      return PrintText(absl::StrCat(
          "added ", name, "; try it with: sandglass --context ", name,
          " whoami\nmake it the usual one with: sandglass context use ", name,
          "\n"));
    case Act::kUse:
      return PrintText(absl::StrCat(
          name, " is used where nothing else says which daemon is meant\n"));
    default:
      return PrintText(absl::StrCat(
          "removed ", name, "; the files that it named are as they were\n"));
  }
}

}  // namespace sandglass::client
