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

// Where the model is and how much it may do: flags over the environment over
// the configuration file.
struct AgentSettings {
  LlmOptions llm;
  std::string key_name;  // of the key's variable or file; for messages
  std::string model;
  std::string system;  // added to what the agent says itself
  uint32_t max_tokens = 8192;
  uint64_t context_tokens = 100'000;  // of a request, by estimate
  uint32_t max_rounds = 50;           // of tools, for one message
};

// The value of an environment variable; nullopt when it is unset or empty.
using EnvironmentLookup =
    std::function<std::optional<std::string>(const char* name)>;

// Reads the configuration file (--config, else $XDG_CONFIG_HOME or ~/.config,
// sandglass/agent.json, if it is there) and the variables ANTHROPIC_API_KEY,
// ANTHROPIC_BASE_URL, OPENAI_API_KEY, OPENAI_BASE_URL, SANDGLASS_PROVIDER and
// SANDGLASS_MODEL. INVALID_ARGUMENT names what is wrong and what to do; a key's
// value is in no message. `needs_model`: false for a replay.
absl::StatusOr<AgentSettings> LoadAgentSettings(
    const AgentOptions& options, const EnvironmentLookup& environment,
    bool needs_model);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_AGENT_SETTINGS_H_
