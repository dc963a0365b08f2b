#ifndef SANDGLASS_CLIENT_AGENT_AGENT_COMMAND_H_
#define SANDGLASS_CLIENT_AGENT_AGENT_COMMAND_H_

#include "client/agent/agent_options.h"
#include "client/connection/endpoint.h"

namespace sandglass::client {

// `sandglass agent`: a conversation with a model whose tools run in the daemon
// at `endpoint`. Returns the exit code: 0 when the model has answered,
// kExitError when it couldn't, 128 and the signal when it was stopped.
int AgentCommand(const Endpoint& endpoint, const AgentOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_AGENT_COMMAND_H_
