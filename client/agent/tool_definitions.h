#ifndef SANDGLASS_CLIENT_AGENT_TOOL_DEFINITIONS_H_
#define SANDGLASS_CLIENT_AGENT_TOOL_DEFINITIONS_H_

#include <vector>

#include "client/llm/llm_client.h"
#include "client/llm/llm_event.h"

namespace sandglass::client {

// The sandbox for calls that name none.
inline constexpr char kMainSandbox[] = "main";

struct ToolChoice {
  LlmProvider provider = LlmProvider::kOpenAiChat;
  bool native = false;
  bool several_sandboxes = false;  // each tool can name one
  bool skills = false;             // there is load_skill
};

// The descriptions of the tools for a model.
std::vector<LlmTool> ToolDefinitions(const ToolChoice& choice);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_TOOL_DEFINITIONS_H_
