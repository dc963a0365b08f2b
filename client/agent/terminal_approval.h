#ifndef SANDGLASS_CLIENT_AGENT_TERMINAL_APPROVAL_H_
#define SANDGLASS_CLIENT_AGENT_TERMINAL_APPROVAL_H_

#include <string>

#include "client/agent/agent_interrupts.h"
#include "client/connection/daemon.h"

namespace sandglass::client {

// Shows the program that waits for an approval to a person at the terminal, and
// gives or denies the approval depending on what they type. False: denied,
// interrupted, or nobody is there. Ctrl-C and the end of input deny.
bool AskOnTerminal(const Daemon& daemon, const std::string& approval_id,
                   const AgentInterrupts& interrupts);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_TERMINAL_APPROVAL_H_
