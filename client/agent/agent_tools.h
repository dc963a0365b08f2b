#ifndef SANDGLASS_CLIENT_AGENT_AGENT_TOOLS_H_
#define SANDGLASS_CLIENT_AGENT_AGENT_TOOLS_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/agent/call_arguments.h"
#include "client/agent/sandboxes.h"
#include "client/agent/skills.h"
#include "client/llm/llm_client.h"
#include "client/llm/llm_event.h"
#include "client/toolbox/toolbox.h"

namespace sandglass::client {

struct AgentToolOptions {
  LlmProvider provider = LlmProvider::kOpenAiChat;
  // The tools that the provider's models are trained on take the place of ours
  // where it has such.
  bool native = false;
  uint32_t sandboxes = 1;  // the most that there may be at once
};

// Asks a person whether a run may go on that the daemon holds back. False: it
// may not, or nobody is there. Called by one thread at a time.
using AskApproval = std::function<bool(const std::string& approval_id)>;

// What the model may call: how it is told of it, and how a call is carried out.
// Thread-safe.
class AgentTools {
 public:
  // All outlive it; `skills` may be null.
  AgentTools(const Toolbox& toolbox, Sandboxes& sandboxes, const Skills* skills,
             AgentToolOptions options, AskApproval ask);

  std::vector<LlmTool> Definitions() const;

  // The sandbox that a call is for; calls of one are carried out in turn.
  std::string SandboxOf(const LlmToolCall& call) const;

  // Never fails otherwise than in words. What was run before is never run
  // again: a sandbox that is gone is replaced, and the model is told.
  ToolAnswer Call(const LlmToolCall& call, CallCancel& cancel,
                  const ToolProgress& progress);

 private:
  ToolAnswer InSandbox(const LlmToolCall& call, CallArguments& arguments,
                       const std::string& session_id, CallCancel& cancel,
                       const ToolProgress& progress);
  ToolAnswer RunCode(CodeCall call, CallCancel& cancel,
                     const ToolProgress& progress) ABSL_LOCKS_EXCLUDED(asking_);
  ToolAnswer NativeBash(CallArguments& arguments, const std::string& session_id,
                        CallCancel& cancel, const ToolProgress& progress);
  ToolAnswer NativeEditor(CallArguments& arguments,
                          const std::string& session_id, CallCancel& cancel);
  ToolAnswer NativeShell(CallArguments& arguments,
                         const std::string& session_id, CallCancel& cancel,
                         const ToolProgress& progress);
  ToolAnswer LoadSkill(CallArguments& arguments, const std::string& session_id,
                       CallCancel& cancel);
  bool Has(const std::string& tool) const;

  const Toolbox& toolbox_;
  Sandboxes& sandboxes_;
  const Skills* const skills_;
  const AgentToolOptions options_;
  absl::Mutex asking_;  // one question at a time
  const AskApproval ask_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_AGENT_TOOLS_H_
