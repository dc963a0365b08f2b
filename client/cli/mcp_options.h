#ifndef SANDGLASS_CLIENT_CLI_MCP_OPTIONS_H_
#define SANDGLASS_CLIENT_CLI_MCP_OPTIONS_H_

#include <optional>
#include <string>

namespace sandglass::client {

// Options of `sandglass mcp`.
struct McpOptions {
  // Where to serve HTTP; absent: serve on standard input and output.
  std::optional<std::string> http;
  std::optional<std::string> token_file;
  std::string profile;  // for all runs; empty: the default one
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CLI_MCP_OPTIONS_H_
