#ifndef SANDGLASS_CLIENT_CONNECTION_TOKEN_H_
#define SANDGLASS_CLIENT_CONNECTION_TOKEN_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/connection/endpoint.h"
#include "grpcpp/security/credentials.h"

namespace sandglass::client {

// The metadata by which a caller proves who it is.
constexpr char kAuthorization[] = "authorization";

// The name of a file of secrets, for messages. A token in its place isn't
// shown.
std::string VisibleFileName(const std::string& path);

// Reads a file that is a secret: a regular file of at most `max_bytes` that
// only its owner, this user or root, can read. `flag` says what named it.
absl::StatusOr<std::string> ReadSecretFile(const std::string& flag,
                                           const std::string& path,
                                           size_t max_bytes);

// The endpoint's token as it is now; empty when it has none. No error quotes
// it.
absl::StatusOr<std::string> TokenOf(const Endpoint& endpoint);

// The value of kAuthorization for a token that isn't empty.
std::string BearerOf(const std::string& token);

// Sends the endpoint's token with each call, as its file is then. gRPC does so
// over TLS only.
std::shared_ptr<grpc::CallCredentials> TokenCredentials(Endpoint endpoint);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_TOKEN_H_
