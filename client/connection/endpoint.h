#ifndef SANDGLASS_CLIENT_CONNECTION_ENDPOINT_H_
#define SANDGLASS_CLIENT_CONNECTION_ENDPOINT_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace sandglass::client {

// Where a daemon is, and how to prove to it who we are.
struct Endpoint {
  Endpoint() = default;
  // Whoever has an address alone may say so, as most tests do.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Endpoint(std::string where) : address(std::move(where)) {}

  std::string address;  // as ParseAddress takes it
  // Files in PEM; empty: none.
  std::string ca;
  std::string cert;
  std::string key;
  // Read anew for each call, so that it may turn over; empty: none.
  std::string token_file;
  // The token itself, from the environment. Never to be printed.
  std::string token;
};

// What a command line says of the endpoint. There is no flag for the token
// itself, which everybody on the machine would see in the list of processes.
struct EndpointFlags {
  std::optional<std::string> address;
  std::optional<std::string> ca;
  std::optional<std::string> cert;
  std::optional<std::string> key;
  std::optional<std::string> token_file;
  std::optional<std::string> context;
};

// The value of a variable of the environment; nullopt when it isn't set.
using Variables =
    std::function<std::optional<std::string>(const std::string& name)>;
std::optional<std::string> EnvironmentVariable(const std::string& name);

// Puts together what is known. For each value the first of these that has it:
// the flags, the context that --context names, the variables SANDGLASS_ADDRESS,
// _CA, _CERT, _KEY, _TOKEN or _TOKEN_FILE, and the context that
// SANDGLASS_CONTEXT names. The context in use counts only where none of these
// says where the daemon is, so that its token goes to no other daemon. Without
// any address it is UsualAddress().
absl::StatusOr<Endpoint> ResolveEndpoint(const EndpointFlags& flags,
                                         const Variables& variables);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_ENDPOINT_H_
