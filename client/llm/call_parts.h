#ifndef SANDGLASS_CLIENT_LLM_CALL_PARTS_H_
#define SANDGLASS_CLIENT_LLM_CALL_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "client/llm/llm_event.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {

// Puts tool calls together from the pieces of a Chat Completions stream. They
// belong together by index, where servers send one; some send none, the same
// one for all, no ids, names in pieces or with every piece, and arguments that
// are an object in place of its text.
class CallParts {
 public:
  // The array "tool_calls" of a delta or of a message; anything else is passed
  // over. RESOURCE_EXHAUSTED: too many calls.
  absl::Status Add(const nlohmann::json& pieces);

  bool empty() const { return calls_.empty(); }
  // In the order in which they began; ids and arguments as the
  // server has them, both maybe empty.
  std::vector<LlmToolCall> Take();

 private:
  // Knows when an object has ended, however many pieces it comes in.
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
  // The call that a piece goes on with; null: it begins one.
  Part* Find(const Piece& piece);

  std::vector<Part> calls_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_CALL_PARTS_H_
