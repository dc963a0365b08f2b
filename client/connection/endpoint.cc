#include "client/connection/endpoint.h"

#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/connection/address.h"
#include "client/connection/contexts.h"

namespace sandglass::client {
namespace {

// Fills what `to` lacks. A token belongs together with its file: the first that
// says either of them says both.
void FillFrom(const Endpoint& from, Endpoint& to) {
  if (to.address.empty()) to.address = from.address;
  if (to.ca.empty()) to.ca = from.ca;
  // A certificate and the key of another would fit nothing.
  if (to.cert.empty() && to.key.empty()) {
    to.cert = from.cert;
    to.key = from.key;
  }
  if (to.token.empty() && to.token_file.empty()) {
    to.token = from.token;
    to.token_file = from.token_file;
  }
}

absl::StatusOr<Endpoint> FromVariables(const Variables& variables) {
  const auto value = [&](const char* name) {
    return variables(name).value_or("");
  };
  Endpoint endpoint(value("SANDGLASS_ADDRESS"));
  endpoint.ca = value("SANDGLASS_CA");
  endpoint.cert = value("SANDGLASS_CERT");
  endpoint.key = value("SANDGLASS_KEY");
  endpoint.token_file = value("SANDGLASS_TOKEN_FILE");
  endpoint.token = value("SANDGLASS_TOKEN");
  if (!endpoint.token.empty() && !endpoint.token_file.empty()) {
    return absl::InvalidArgumentError(
        "SANDGLASS_TOKEN and SANDGLASS_TOKEN_FILE are both set; unset one, so "
        "that it is plain which token is meant");
  }
  return endpoint;
}

absl::StatusOr<Endpoint> Named(const Contexts& contexts,
                               const std::string& name, const char* by) {
  const auto found = contexts.by_name.find(name);
  if (found != contexts.by_name.end()) return found->second;
  return absl::NotFoundError(absl::StrCat(
      by, " '", VisibleText(name),
      "': there is no such context; sandglass context list shows them"));
}

// Whatever is given has to be a path, not an empty one by a slip of the shell.
absl::Status CheckFlags(const EndpointFlags& flags) {
  const std::pair<const char*, const std::optional<std::string>&> all[] = {
      {"--address", flags.address},
      {"--ca", flags.ca},
      {"--cert", flags.cert},
      {"--key", flags.key},
      {"--token-file", flags.token_file},
      {"--context", flags.context}};
  for (const auto& [name, value] : all) {
    if (value && value->empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is empty; give its value, or leave it out"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<std::string> EnvironmentVariable(const std::string& name) {
  // Nobody changes the environment once there are threads.
  const char* value =
      std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

absl::StatusOr<Endpoint> ResolveEndpoint(const EndpointFlags& flags,
                                         const Variables& variables) {
  if (absl::Status good = CheckFlags(flags); !good.ok()) return good;
  absl::StatusOr<Endpoint> environment = FromVariables(variables);
  if (!environment.ok()) return environment.status();
  Endpoint endpoint(flags.address.value_or(""));
  endpoint.ca = flags.ca.value_or("");
  endpoint.cert = flags.cert.value_or("");
  endpoint.key = flags.key.value_or("");
  endpoint.token_file = flags.token_file.value_or("");

  const std::string by_variable = variables("SANDGLASS_CONTEXT").value_or("");
  const bool asked = flags.context.has_value() || !by_variable.empty();
  const bool placed =
      !endpoint.address.empty() || !environment->address.empty();
  Contexts contexts;
  if (asked || !placed) {
    absl::StatusOr<Contexts> read = ReadContexts(ContextsPath(variables));
    // Who says where the daemon is needs no contexts; see above.
    if (!read.ok()) return read.status();
    contexts = *std::move(read);
  }
  if (flags.context) {
    absl::StatusOr<Endpoint> named =
        Named(contexts, *flags.context, "--context");
    if (!named.ok()) return named.status();
    FillFrom(*named, endpoint);
  }
  FillFrom(*environment, endpoint);
  if (!flags.context && !by_variable.empty()) {
    absl::StatusOr<Endpoint> named =
        Named(contexts, by_variable, "SANDGLASS_CONTEXT");
    if (!named.ok()) return named.status();
    FillFrom(*named, endpoint);
  } else if (!asked && !placed && !contexts.current.empty()) {
    FillFrom(contexts.by_name.at(contexts.current), endpoint);
  }
  if (endpoint.address.empty()) endpoint.address = UsualAddress();
  if (endpoint.cert.empty() != endpoint.key.empty()) {
    return absl::InvalidArgumentError(
        endpoint.cert.empty()
            ? "there is a key (--key) without its certificate; give --cert"
            : "there is a certificate (--cert) without its key; give --key");
  }
  return endpoint;
}

}  // namespace sandglass::client
