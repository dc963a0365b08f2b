#ifndef SANDGLASS_CLIENT_TOOLBOX_COMMAND_RUN_H_
#define SANDGLASS_CLIENT_TOOLBOX_COMMAND_RUN_H_

#include "absl/time/time.h"
#include "client/connection/cancellable_call.h"
#include "client/connection/daemon.h"
#include "client/toolbox/tool_answer.h"
#include "client/toolbox/tool_progress.h"
#include "client/toolbox/toolbox.h"
#include "sandglass/v1/exec.pb.h"

namespace sandglass::client {

// Runs a command in a sandbox to its end, with its two streams merged. With a
// timeout of zero, only the profile's limit applies.
ToolAnswer CarryOutCommand(const Daemon& daemon, const ToolBounds& bounds,
                           v1::ExecSpec spec, absl::Duration timeout,
                           CallCancel& cancel, const ToolProgress& progress);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_COMMAND_RUN_H_
