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
// document if the server doesn't stream. The first byte shows which one it is,
// because servers are not exact about content types. The same body gives the
// same turn, however it is cut into chunks.
class AnswerReader {
 public:
  // The decoder has to outlive this object.
  AnswerReader(TurnDecoder& decoder, size_t max_bytes);

  AnswerReader(const AnswerReader&) = delete;
  AnswerReader& operator=(const AnswerReader&) = delete;

  // Returns the decoder's errors. DATA_LOSS: the body is neither form.
  // RESOURCE_EXHAUSTED: it is too large.
  absl::Status Feed(std::string_view bytes);
  // The turn is complete; what may follow doesn't matter.
  bool done() const { return decoder_.done(); }
  absl::StatusOr<LlmTurn> Finish();

 private:
  enum class Form { kUnknown, kEvents, kDocument };

  absl::Status FindForm(std::string_view& bytes);
  absl::Status OnEvent(const SseEvent& event);

  TurnDecoder& decoder_;
  const size_t max_bytes_;
  Form form_ = Form::kUnknown;
  SseParser events_;
  std::string document_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LLM_ANSWER_READER_H_
