#ifndef SANDGLASS_CLIENT_TOOLBOX_DAEMON_CALLS_H_
#define SANDGLASS_CLIENT_TOOLBOX_DAEMON_CALLS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/connection/cancellable_call.h"
#include "client/connection/daemon.h"
#include "client/toolbox/answer_text.h"
#include "client/toolbox/tool_answer.h"
#include "client/toolbox/toolbox.h"

// What the tools have in common.
namespace sandglass::client {

// The time limit for calls that may be the first of a sandbox, which wait for
// its libraries' installation, and for what a run may wait in addition to its
// own time.
constexpr absl::Duration kToolPatience = absl::Minutes(15);

// Describes a failed call to a model: what was wrong and what to do next.
std::string CallErrorWords(const grpc::Status& status, const Daemon& daemon,
                           const CallCancel& cancel);
ToolAnswer CallErrorAnswer(const grpc::Status& status, const Daemon& daemon,
                           const ToolBounds& bounds, const CallCancel& cancel);

// The answer for an argument that can't be sent.
ToolAnswer BadArgument(const absl::Status& status);

// Writes a whole file, and makes the directories on the way.
grpc::Status WriteWhole(const Daemon& daemon, const std::string& sandbox_id,
                        const std::string& path, absl::string_view content,
                        CallCancel& cancel);

// The text cut to its bounds. If it is cut, the whole text is saved in the
// sandbox under `name`, and the returned text says where; without a sandbox it
// says how to get less output.
std::string BoundedText(const AnswerText& text, const Daemon& daemon,
                        const ToolBounds& bounds, const std::string& sandbox_id,
                        absl::string_view name, CallCancel& cancel);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_DAEMON_CALLS_H_
