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
  // If the provider has tools that its models are trained on, those replace
  // ours.
  bool native = false;
  uint32_t sandboxes = 1;  // the most at a time
};

// Asks a person whether a run that the daemon holds back may go on. False: it
// may not, or nobody is there. Called by only one thread at a time.
using AskApproval = std::function<bool(const std::string& approval_id)>;

// The tools that the model may call: their descriptions, and how calls are
// carried out. Thread-safe.
class AgentTools {
 public:
  // All arguments have to outlive this object; `skills` may be null.
  AgentTools(const Toolbox& toolbox, Sandboxes& sandboxes, const Skills* skills,
             AgentToolOptions options, AskApproval ask);

  std::vector<LlmTool> Definitions() const;

  // The sandbox that a call is for; calls for the same sandbox are carried out
  // one after another.
  std::string SandboxOf(const LlmToolCall& call) const;

  // Failures are only reported in the answer's words. What was run before is
  // never repeated: a sandbox that is gone is replaced, and the model is told
  // so.
  ToolAnswer Call(const LlmToolCall& call, CallCancel& cancel,
                  const ToolProgress& progress);

 private:
  ToolAnswer InSandbox(const LlmToolCall& call, CallArguments& arguments,
                       const std::string& session_id, CallCancel& cancel,
                       const ToolProgress& progress);
  ToolAnswer RunCode(CodeCall call, CallCancel& cancel,
                     const ToolProgress& progress) ABSL_LOCKS_EXCLUDED(asking_);
  // Commands that go on between calls.
  ToolAnswer LongCommand(const std::string& tool, CallArguments& arguments,
                         const std::string& session_id, CallCancel& cancel);
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
