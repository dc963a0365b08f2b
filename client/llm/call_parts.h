#ifndef SANDGLASS_CLIENT_LLM_CALL_PARTS_H_
#define SANDGLASS_CLIENT_LLM_CALL_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "client/llm/llm_event.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {

// Assembles tool calls from the pieces of a Chat Completions stream. Pieces
// belong together by index if servers send one; some servers send none, or the
// same one for all calls, no ids, names in pieces or with every piece, and
// arguments that are an object instead of its text.
class CallParts {
 public:
  // Adds the array "tool_calls" of a delta or of a message; anything else is
  // ignored. RESOURCE_EXHAUSTED: too many calls.
  absl::Status Add(const nlohmann::json& pieces);

  bool empty() const { return calls_.empty(); }
  // The calls in the order in which they began. Ids and arguments are as the
  // server sent them; both may be empty.
  std::vector<LlmToolCall> Collect();

 private:
  // Recognises the end of an object, however many pieces it comes in.
  class Brackets {
   public:
    void Feed(std::string_view text);
    bool closed() const { return closed_; }

   private:
    int64_t open_ = 0;
    bool closed_ = false;
    bool in_string_ = false;
    bool escaped_ = false;
  };
  struct Part {
    std::optional<uint64_t> index;
    LlmToolCall call;
    Brackets brackets;
  };
  struct Piece;

  absl::Status AddOne(const Piece& piece);
  // The call that a piece continues; null: it begins a new one.
  Part* Find(const Piece& piece);

  std::vector<Part> calls_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_CALL_PARTS_H_
