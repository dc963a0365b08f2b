#include "client/cli/mcp_command_line.h"

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "client/flags/flag_values.h"

namespace sandglass::client {

McpCommandLine::McpCommandLine(CLI::App& app) {
  mcp_ = app.add_subcommand(
      "mcp",
      "Serve the Model Context Protocol, on standard input and output or HTTP");
  http_ = AddValue(*mcp_, "--http",
                   "Serve streamable HTTP there, at /mcp; 127.0.0.1:0 takes a "
                   "port that is free. Other than loopback needs a token",
                   "ADDR:PORT");
  token_file_ = AddValue(*mcp_, "--token-file",
                         "With --http: the file with the bearer token that "
                         "clients must send (default: $SANDGLASS_MCP_TOKEN)",
                         "FILE");
  profile_ = AddValue(*mcp_, "--profile",
                      "Profile of all that is run (default: default)", "NAME");
  mcp_->footer(
      "\nHosts start it by themselves: claude mcp add sandglass -- sandglass "
      "mcp\n");
}

bool McpCommandLine::parsed() const { return mcp_->parsed(); }

absl::StatusOr<McpOptions> McpCommandLine::Collect() const {
  McpOptions options;
  options.http = ValueOf(http_);
  options.token_file = ValueOf(token_file_);
  options.profile = ValueOf(profile_).value_or("");
  if (options.token_file && !options.http) {
    return absl::InvalidArgumentError(
        "--token-file needs --http, whose clients send that token; the file "
        "with your own for the daemon stands before mcp: sandglass "
        "--token-file FILE mcp");
  }
  return options;
}

}  // namespace sandglass::client
