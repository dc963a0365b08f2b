#ifndef SANDGLASS_CLIENT_LLM_ANSWER_READER_H_
#define SANDGLASS_CLIENT_LLM_ANSWER_READER_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/llm/codec.h"
#include "client/llm/llm_event.h"
#include "client/llm/sse.h"

namespace sandglass::client {

// Reads the body of a provider's answer: a stream of events, or one JSON
// document where the server doesn't stream. Which one, its first byte says:
// servers are not exact about content types. Cut into any chunks, the same
// body gives the same turn.
class AnswerReader {
 public:
  // The decoder must outlive it.
  AnswerReader(TurnDecoder& decoder, size_t most_bytes);

  AnswerReader(const AnswerReader&) = delete;
  AnswerReader& operator=(const AnswerReader&) = delete;

  // The decoder's errors. DATA_LOSS: it is neither. RESOURCE_EXHAUSTED.
  absl::Status Feed(std::string_view bytes);
  // The turn is whole; what may follow is of no interest.
  bool done() const { return decoder_.done(); }
  absl::StatusOr<LlmTurn> Finish();

 private:
  enum class Form { kUnknown, kEvents, kDocument };

  absl::Status FindForm(std::string_view& bytes);
  absl::Status OnEvent(const SseEvent& event);

  TurnDecoder& decoder_;
  const size_t most_bytes_;
  Form form_ = Form::kUnknown;
  SseParser events_;
  std::string document_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_ANSWER_READER_H_
