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

// For calls that may be a sandbox's first, which waits for its libraries'
// install, and what a run may wait besides its own time.
constexpr absl::Duration kToolPatience = absl::Minutes(15);

// A failed call in words for a model: what was wrong and what to do next.
std::string CallErrorWords(const grpc::Status& status, const Daemon& daemon,
                           const CallCancel& cancel);
ToolAnswer CallErrorAnswer(const grpc::Status& status, const Daemon& daemon,
                           const ToolBounds& bounds, const CallCancel& cancel);

// Of an argument that can't be sent.
ToolAnswer BadArgument(const absl::Status& status);

// Writes a file whole, with the directories on the way.
grpc::Status WriteWhole(const Daemon& daemon, const std::string& sandbox_id,
                        const std::string& path, absl::string_view content,
                        CallCancel& cancel);

// The text within its bounds. What is cut is put into the sandbox whole, by
// `name`, and the text says where; without a sandbox it says how to get less.
std::string BoundedText(const AnswerText& text, const Daemon& daemon,
                        const ToolBounds& bounds, const std::string& sandbox_id,
                        absl::string_view name, CallCancel& cancel);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_DAEMON_CALLS_H_
