#ifndef SANDGLASS_CLIENT_AGENT_CONVERSATION_REPAIR_H_
#define SANDGLASS_CLIENT_AGENT_CONVERSATION_REPAIR_H_

#include <vector>

#include "client/llm/llm_event.h"

namespace sandglass::client {

// The conversation in a form that every provider accepts, with the user's next
// message to come: each tool call has a result, and turns alternate. An agent
// that ended at any moment, or a turn that failed, leaves calls without results
// or a user's message without an answer; what is missing is filled in with
// words that say it was cut off.
std::vector<LlmMessage> RepairedConversation(std::vector<LlmMessage> messages);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_CONVERSATION_REPAIR_H_
