#ifndef SANDGLASS_CLIENT_AGENT_AGENT_SETTINGS_H_
#define SANDGLASS_CLIENT_AGENT_AGENT_SETTINGS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/agent/agent_options.h"
#include "client/llm/llm_client.h"

namespace sandglass::client {

// Which model to use and how much it may do. Flags override the environment,
// which overrides the configuration file.
struct AgentSettings {
  LlmOptions llm;
  std::string key_name;  // the key's variable or file, for messages
  std::string model;
  std::string system;  // added to the agent's own system prompt
  uint32_t max_tokens = 8192;
  uint64_t context_tokens = 100'000;  // in a request, estimated
  uint32_t max_rounds = 50;           // of tools, for one message
};

// The value of an environment variable; nullopt when it is unset or empty.
using EnvironmentLookup =
    std::function<std::optional<std::string>(const char* name)>;

// Reads the configuration file (--config, else sandglass/agent.json in
// $XDG_CONFIG_HOME or ~/.config, if it exists) and the variables
// ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, OPENAI_API_KEY, OPENAI_BASE_URL,
// SANDGLASS_PROVIDER and SANDGLASS_MODEL. INVALID_ARGUMENT says what is wrong
// and what to do; no message contains a key's value. `needs_model` is false for
// a replay.
absl::StatusOr<AgentSettings> LoadAgentSettings(
    const AgentOptions& options, const EnvironmentLookup& environment,
    bool needs_model);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_AGENT_SETTINGS_H_
