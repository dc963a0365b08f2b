#ifndef SANDGLASS_CLIENT_CLI_MCP_COMMAND_LINE_H_
#define SANDGLASS_CLIENT_CLI_MCP_COMMAND_LINE_H_

#include "absl/status/statusor.h"
#include "client/cli/mcp_options.h"

// The name comes from the library.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sandglass::client {

// `sandglass mcp` on the command line.
class McpCommandLine {
 public:
  explicit McpCommandLine(CLI::App& app);
  McpCommandLine(const McpCommandLine&) = delete;
  McpCommandLine& operator=(const McpCommandLine&) = delete;

  // Call both only after parsing.
  bool parsed() const;
  absl::StatusOr<McpOptions> Collect() const;

 private:
  CLI::App* mcp_;
  CLI::Option *http_, *token_file_, *profile_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CLI_MCP_COMMAND_LINE_H_
