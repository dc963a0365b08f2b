#ifndef SANDGLASS_CLIENT_CONNECTION_TLS_H_
#define SANDGLASS_CLIENT_CONNECTION_TLS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/connection/address.h"
#include "client/connection/call_metadata.h"
#include "client/connection/endpoint.h"
#include "grpcpp/channel.h"

namespace sandglass::client {

// What TLS needs, read from the endpoint's files. All are in PEM.
struct TlsFiles {
  std::string authorities;
  std::string authorities_name;  // the file that they are from
  std::string certificate;       // with its chain; empty: none
  std::string key;
};

// The endpoint's authorities, or those of the system where it names none.
absl::StatusOr<TlsFiles> ReadTlsFiles(const Endpoint& endpoint);

// A channel that is connected: it waits for some seconds while nobody answers
// there, as a daemon does that is restarted. The error is one line that says
// what is wrong. The channel connects anew when the connection breaks, repeats
// calls that change nothing, and sends the endpoint's token.
absl::StatusOr<std::shared_ptr<grpc::Channel>> OpenTlsChannel(
    const Endpoint& endpoint, const Address& address,
    std::vector<CallMetadata> metadata);

// Why a connection comes to nothing, found out by making one.
struct TlsProblem {
  std::string words;      // empty: it works now
  bool may_pass = false;  // whether it may be otherwise in a moment
};
TlsProblem ProbeTls(const Address& address, const TlsFiles& files);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_TLS_H_
