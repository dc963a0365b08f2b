#include "client/llm/answer_reader.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/llm/json_value.h"
#include "client/llm/provider_error.h"
#include "client/llm/view.h"

namespace sandglass::client {
namespace {

using nlohmann::json;

// White space and the bytes of a byte order mark may precede either form.
constexpr std::string_view kBefore = " \t\r\n\xEF\xBB\xBF";

absl::Status NotJson(std::string_view what, std::string_view text) {
  return absl::DataLossError(
      absl::StrCat(View(what), " is not JSON: ", ShortWords(text, 100)));
}

}  // namespace

AnswerReader::AnswerReader(TurnDecoder& decoder, size_t max_bytes)
    : decoder_(decoder),
      max_bytes_(max_bytes),
      events_(max_bytes,
              [this](const SseEvent& event) { return OnEvent(event); }) {}

absl::Status AnswerReader::Feed(std::string_view bytes) {
  if (form_ == Form::kUnknown) {
    if (absl::Status status = FindForm(bytes); !status.ok()) return status;
  }
  if (form_ == Form::kEvents) return events_.Feed(bytes);
  if (bytes.size() > max_bytes_ - document_.size()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the answer has more than ", max_bytes_, " bytes"));
  }
  document_.append(bytes);
  return absl::OkStatus();
}

absl::Status AnswerReader::FindForm(std::string_view& bytes) {
  const size_t start = bytes.find_first_not_of(kBefore);
  if (start == std::string_view::npos) {
    bytes = {};
    return absl::OkStatus();
  }
  bytes.remove_prefix(start);
  if (bytes.front() == '<') {
    return absl::DataLossError(
        "the answer is a web page, not a provider's: the address may be wrong, "
        "or a proxy may be in between");
  }
  const bool is_document = bytes.front() == '{' || bytes.front() == '[';
  form_ = is_document ? Form::kDocument : Form::kEvents;
  return absl::OkStatus();
}

absl::Status AnswerReader::OnEvent(const SseEvent& event) {
  if (decoder_.done()) return absl::OkStatus();
  if (absl::StripAsciiWhitespace(event.data) == "[DONE]") {
    decoder_.OnDone();
    return absl::OkStatus();
  }
  const json value = ParseJson(event.data);
  if (value.is_discarded()) {
    return NotJson("an event of the stream", event.data);
  }
  return decoder_.OnEvent(event.name, value);
}

absl::StatusOr<LlmTurn> AnswerReader::Finish() {
  if (form_ == Form::kEvents) {
    if (absl::Status status = events_.Finish(); !status.ok()) return status;
  } else if (form_ == Form::kDocument) {
    const json value = ParseJson(document_);
    if (value.is_discarded()) return NotJson("the answer", document_);
    if (absl::Status status = decoder_.OnBody(value); !status.ok()) {
      return status;
    }
  }
  return decoder_.Finish();
}

}  // namespace sandglass::client
