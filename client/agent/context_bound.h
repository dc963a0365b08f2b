#ifndef SANDGLASS_CLIENT_AGENT_CONTEXT_BOUND_H_
#define SANDGLASS_CLIENT_AGENT_CONTEXT_BOUND_H_

#include <cstdint>
#include <vector>

#include "client/llm/llm_event.h"

namespace sandglass::client {

// An estimate of how many tokens a provider will count: one for four bytes,
// 1500 for an image.
uint64_t EstimateTokens(const LlmMessage& message);

// Makes a conversation fit: shortens texts of old tool results, the oldest
// first, then removes the oldest turns as a whole, from one user's message to
// the next, and puts a note in their place. The last user's message and
// everything after it stay. Returns true when something was cut.
bool KeepWithin(uint64_t max_tokens, std::vector<LlmMessage>& messages);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_CONTEXT_BOUND_H_
