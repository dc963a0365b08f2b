#ifndef SANDGLASS_CLIENT_AGENT_AGENT_PROMPT_H_
#define SANDGLASS_CLIENT_AGENT_AGENT_PROMPT_H_

#include <string>
#include <vector>

#include "client/agent/local_tree.h"
#include "client/agent/skills.h"

namespace sandglass::client {

struct PromptFacts {
  bool saves_files = false;          // --out
  std::vector<std::string> uploads;  // their paths in the sandbox
  const Skills* skills = nullptr;    // null: none
  std::string user_text;             // added by the settings
};

// The system prompt: what the model is told first.
std::string SystemPrompt(const PromptFacts& facts);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_AGENT_PROMPT_H_
