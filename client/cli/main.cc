// The command line tool: parses the arguments and calls one command.

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "client/agent/agent_command.h"
#include "client/audit/audit_commands.h"
#include "client/base/file_io.h"
#include "client/cli/command_line.h"
#include "client/cli/info_commands.h"
#include "client/cli/mcp_command.h"
#include "client/connection/address.h"
#include "client/doctor/doctor_command.h"
#include "client/layers/layer_commands.h"
#include "client/operator/operator_commands.h"
#include "client/policy/policy_commands.h"
#include "client/run/run_command.h"
#include "client/run/runs_commands.h"
#include "client/service/service_commands.h"
#include "client/session/session_commands.h"

namespace sandglass::client {
namespace {

struct Dispatch {
  const std::string& address;
  int operator()(const RunOptions& o) const { return RunCommand(address, o); }
  int operator()(const InfoOptions& o) const { return InfoCommand(address, o); }
  int operator()(const LanguagesOptions& o) const {
    return LanguagesCommand(address, o);
  }
  int operator()(const PsOptions& o) const { return PsCommand(address, o); }
  int operator()(const KillOptions& o) const { return KillCommand(address, o); }
  int operator()(const DoctorOptions& o) const {
    return DoctorCommand(address, o);
  }
  int operator()(const ApprovalsOptions& o) const {
    return ApprovalsCommand(address, o);
  }
  int operator()(const PolicyOptions& o) const {
    return PolicyCommand(address, o);
  }
  int operator()(const SessionOptions& o) const {
    return SessionCommand(address, o);
  }
  int operator()(const LayersOptions& o) const {
    return LayersCommand(address, o);
  }
  int operator()(const McpOptions& o) const { return McpCommand(address, o); }
  int operator()(const AgentOptions& o) const {
    return AgentCommand(address, o);
  }
  int operator()(const OperatorOptions& o) const {
    return OperatorCommand(address, o);
  }
  int operator()(const AuditOptions& o) const { return AuditCommand(o); }
  int operator()(const ServiceOptions& o) const { return ServiceCommand(o); }
};

int Main(int argc, char** argv) {
  // A reader that goes away is noticed as EPIPE instead, so that the run can be
  // stopped.
  signal(SIGPIPE, SIG_IGN);
  // gRPC's own log lines aren't meant for users of a command line tool; its
  // errors reach us as statuses.
  // There is no other thread yet.
  setenv("GRPC_VERBOSITY", "NONE", 0);  // NOLINT(concurrency-mt-unsafe)
  const char* address =
      std::getenv("SANDGLASS_ADDRESS");  // NOLINT(concurrency-mt-unsafe)
  const ParsedCommandLine parsed = ParseCommandLine(
      std::vector<std::string>(argv + 1, argv + argc),
      address != nullptr && *address != '\0' ? address : UsualAddress());
  if (!parsed.command) {
    WriteAll(parsed.exit_code == 0 ? STDOUT_FILENO : STDERR_FILENO,
             parsed.text);
    return parsed.exit_code;
  }
  return std::visit(Dispatch{parsed.command->address}, parsed.command->command);
}

// Runs before the libraries' own initialisation, in which gRPC opens
// descriptors.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*fill_descriptors)() = &FillStandardDescriptors;

}  // namespace
}  // namespace sandglass::client

int main(int argc, char** argv) { return sandglass::client::Main(argc, argv); }
