#ifndef SANDGLASS_CLIENT_AGENT_CONTEXT_BOUND_H_
#define SANDGLASS_CLIENT_AGENT_CONTEXT_BOUND_H_

#include <cstdint>
#include <vector>

#include "client/llm/llm_event.h"

namespace sandglass::client {

// About how many tokens a provider will count: four bytes one, an image 1500.
uint64_t EstimateTokens(const LlmMessage& message);

// Makes a conversation fit: cuts down texts of old tool results, the oldest
// first, then leaves out the oldest turns as a whole, from a user's message to
// the next one, with a note in their place. The last user's message and all
// behind it stay. True when something was cut.
bool KeepWithin(uint64_t most_tokens, std::vector<LlmMessage>& messages);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_CONTEXT_BOUND_H_
