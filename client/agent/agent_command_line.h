#ifndef SANDGLASS_CLIENT_AGENT_AGENT_COMMAND_LINE_H_
#define SANDGLASS_CLIENT_AGENT_AGENT_COMMAND_LINE_H_

#include "absl/status/statusor.h"
#include "client/agent/agent_options.h"
#include "client/flags/flag_values.h"

namespace sandglass::client {

// `sandglass agent` on the command line.
class AgentCommandLine {
 public:
  explicit AgentCommandLine(CLI::App& app);

  bool parsed() const;
  absl::StatusOr<AgentOptions> Collect() const;

 private:
  CLI::App* agent_;
  AgentOptions flags_;
  CLI::Option *prompt_, *config_, *provider_, *model_, *base_url_, *system_,
      *profile_, *library_, *thread_, *upload_, *out_, *skills_, *transcript_,
      *replay_, *sandboxes_, *rounds_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_AGENT_COMMAND_LINE_H_
