#ifndef SANDGLASS_TESTS_CLIENT_LLM_LLM_SCRIPT_H_
#define SANDGLASS_TESTS_CLIENT_LLM_LLM_SCRIPT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/llm/codec.h"
#include "client/llm/llm_event.h"

namespace sandglass::client {

// What a listener heard of an answer, and what came of it.
struct ReadAnswer {
  absl::StatusOr<LlmTurn> turn;
  std::string text;
  std::string thinking;
  bool begun = false;
};

// Reads an answer's body, in one piece.
ReadAnswer ReadWhole(const LlmCodec& codec, std::string_view body,
                     const LlmRequest& request = {});

// The same, and checks that cut in two at every byte, and into single bytes,
// the same comes of it.
ReadAnswer ReadEveryWay(const LlmCodec& codec, std::string_view body,
                        const LlmRequest& request = {});

// A stream with an event for each line of the text.
std::string Events(std::string_view lines);

// A conversation with each kind of thing in it: text, a picture, two calls,
// their results, one of which has a picture and one is an error.
LlmRequest LongConversation();

}  // namespace sandglass::client

#endif  // SANDGLASS_TESTS_CLIENT_LLM_LLM_SCRIPT_H_
