#ifndef SANDGLASS_CLIENT_AGENT_START_CHECK_H_
#define SANDGLASS_CLIENT_AGENT_START_CHECK_H_

#include "absl/status/status.h"
#include "client/agent/agent_interrupts.h"
#include "client/agent/agent_options.h"
#include "client/connection/daemon.h"

namespace sandglass::client {

// Whether there can be sandboxes of the profile and with the libraries that the
// user named, so that this is not only found at the model's first call. The
// libraries are installed now; what is printed meanwhile goes to standard
// error. An interrupt ends it.
absl::Status CheckWishes(const Daemon& daemon, const AgentOptions& options,
                         AgentInterrupts& interrupts);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_START_CHECK_H_
