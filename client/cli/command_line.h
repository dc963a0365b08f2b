#ifndef SANDGLASS_CLIENT_CLI_COMMAND_LINE_H_
#define SANDGLASS_CLIENT_CLI_COMMAND_LINE_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/agent/agent_options.h"
#include "client/audit/audit_options.h"
#include "client/cert/cert_options.h"
#include "client/cli/mcp_options.h"
#include "client/connection/endpoint.h"
#include "client/flags/options.h"
#include "client/identity/identity_options.h"
#include "client/layers/layer_options.h"
#include "client/operator/operator_options.h"
#include "client/policy/policy_options.h"
#include "client/service/service_options.h"
#include "client/session/session_options.h"

namespace sandglass::client {

// A whole command line.
struct CommandLine {
  EndpointFlags endpoint;
  std::variant<RunOptions, InfoOptions, LanguagesOptions, PsOptions,
               KillOptions, DoctorOptions, SessionOptions, ApprovalsOptions,
               PolicyOptions, AuditOptions, LayersOptions, McpOptions,
               AgentOptions, OperatorOptions, ServiceOptions, IdentityOptions,
               CertOptions>
      command;
};

// Either a command to execute, or text to print and an exit code (help,
// version, usage errors).
struct ParsedCommandLine {
  std::optional<CommandLine> command;
  int exit_code = 0;
  std::string text;  // to standard output when exit_code is 0, else to stderr
};

// Parses the arguments after the program's name. Opens and reads no files.
ParsedCommandLine ParseCommandLine(std::vector<std::string> arguments);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CLI_COMMAND_LINE_H_
