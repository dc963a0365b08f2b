#ifndef SANDGLASS_CLIENT_MCP_HTTP_LISTEN_ADDRESS_H_
#define SANDGLASS_CLIENT_MCP_HTTP_LISTEN_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sandglass::client {

// The address on which to listen.
struct ListenAddress {
  std::string host;   // an IP address without brackets
  uint16_t port = 0;  // 0: one that is free
  bool loopback = false;
};

// Reads "127.0.0.1:8080", "[::1]:8080" or "localhost:8080" (127.0.0.1). Never
// asks a name server.
absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text);

// Whether the host is only this machine: "localhost", 127.0.0.0/8, "::1"; an
// IPv6 address may be in brackets.
bool IsLoopbackHost(absl::string_view host);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_HTTP_LISTEN_ADDRESS_H_
