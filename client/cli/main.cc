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
#include "client/cert/cert_commands.h"
#include "client/cli/command_line.h"
#include "client/cli/info_commands.h"
#include "client/cli/mcp_command.h"
#include "client/connection/daemon.h"
#include "client/connection/endpoint.h"
#include "client/doctor/doctor_command.h"
#include "client/identity/identity_commands.h"
#include "client/layers/layer_commands.h"
#include "client/operator/operator_commands.h"
#include "client/policy/policy_commands.h"
#include "client/run/run_command.h"
#include "client/run/runs_commands.h"
#include "client/service/service_commands.h"
#include "client/session/session_commands.h"

namespace sandglass::client {
namespace {

// Calls a command with the endpoint, which others don't need: a context that is
// broken keeps nobody from correcting it, or from reading an audit log.
struct Dispatch {
  const EndpointFlags& flags;

  template <typename Options>
  int With(int (*command)(const Endpoint&, const Options&),
           const Options& options) const {
    const absl::StatusOr<Endpoint> endpoint =
        ResolveEndpoint(flags, EnvironmentVariable);
    return endpoint.ok() ? command(*endpoint, options)
                         : Fail(endpoint.status());
  }

  int operator()(const RunOptions& o) const { return With(&RunCommand, o); }
  int operator()(const InfoOptions& o) const { return With(&InfoCommand, o); }
  int operator()(const LanguagesOptions& o) const {
    return With(&LanguagesCommand, o);
  }
  int operator()(const PsOptions& o) const { return With(&PsCommand, o); }
  int operator()(const KillOptions& o) const { return With(&KillCommand, o); }
  int operator()(const DoctorOptions& o) const {
    return With(&DoctorCommand, o);
  }
  int operator()(const ApprovalsOptions& o) const {
    return With(&ApprovalsCommand, o);
  }
  int operator()(const PolicyOptions& o) const {
    return With(&PolicyCommand, o);
  }
  int operator()(const SessionOptions& o) const {
    return With(&SessionCommand, o);
  }
  int operator()(const LayersOptions& o) const {
    return With(&LayersCommand, o);
  }
  int operator()(const McpOptions& o) const { return With(&McpCommand, o); }
  int operator()(const AgentOptions& o) const { return With(&AgentCommand, o); }
  int operator()(const OperatorOptions& o) const {
    // The figures of an audit log need no daemon.
    const auto* usage = std::get_if<UsageOptions>(&o);
    return usage != nullptr && usage->audit ? OperatorCommand(Endpoint(), o)
                                            : With(&OperatorCommand, o);
  }
  int operator()(const IdentityOptions& o) const {
    return IdentityCommand(flags, o);
  }
  int operator()(const AuditOptions& o) const { return AuditCommand(o); }
  int operator()(const ServiceOptions& o) const { return ServiceCommand(o); }
  int operator()(const CertOptions& o) const { return CertCommand(o); }
};

int Main(int argc, char** argv) {
  // A reader that goes away is noticed as EPIPE instead, so that the run can be
  // stopped.
  signal(SIGPIPE, SIG_IGN);
  // gRPC's own log lines aren't meant for users of a command line tool; its
  // errors reach us as statuses.
  // There is no other thread yet.
  setenv("GRPC_VERBOSITY", "NONE", 0);  // NOLINT(concurrency-mt-unsafe)
  const ParsedCommandLine parsed =
      ParseCommandLine(std::vector<std::string>(argv + 1, argv + argc));
  if (!parsed.command) {
    WriteAll(parsed.exit_code == 0 ? STDOUT_FILENO : STDERR_FILENO,
             parsed.text);
    return parsed.exit_code;
  }
  return std::visit(Dispatch{parsed.command->endpoint},
                    parsed.command->command);
}

// Runs before the libraries' own initialisation, in which gRPC opens
// descriptors.
[[gnu::section(".preinit_array"),
  gnu::used]] void (*fill_descriptors)() = &FillStandardDescriptors;

}  // namespace
}  // namespace sandglass::client

int main(int argc, char** argv) { return sandglass::client::Main(argc, argv); }
