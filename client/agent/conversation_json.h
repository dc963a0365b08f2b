#ifndef SANDGLASS_CLIENT_AGENT_CONVERSATION_JSON_H_
#define SANDGLASS_CLIENT_AGENT_CONVERSATION_JSON_H_

#include "absl/status/statusor.h"
#include "client/llm/llm_event.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {

// The form of a message in files, with images in base64.
nlohmann::json ToJson(const LlmMessage& message);
// INVALID_ARGUMENT for anything that ToJson doesn't make.
absl::StatusOr<LlmMessage> MessageFromJson(const nlohmann::json& json);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_CONVERSATION_JSON_H_
