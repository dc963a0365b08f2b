#include "client/agent/replay_client.h"

#include <algorithm>
#include <iterator>

namespace sandglass::client {

ReplayClient::ReplayClient(const std::vector<LlmMessage>& transcript) {
  std::copy_if(transcript.begin(), transcript.end(), std::back_inserter(turns_),
               [](const LlmMessage& message) {
                 return message.role == LlmMessage::Role::kModel;
               });
}

absl::StatusOr<LlmTurn> ReplayClient::Ask(
    const LlmRequest&, const LlmListener& listener,
    const std::function<void(const std::string&, absl::Duration)>&,
    const std::atomic<bool>& cancel) {
  if (cancel) return absl::CancelledError("");
  if (next_ == turns_.size()) {
    return absl::OutOfRangeError("the transcript has no more of the model");
  }
  LlmTurn turn;
  turn.message = turns_[next_++];
  turn.stop = turn.message.calls.empty() ? LlmStop::kEnd : LlmStop::kTools;
  if (listener.on_text) listener.on_text(turn.message.text);
  return turn;
}

std::vector<LlmMessage> UserMessages(
    const std::vector<LlmMessage>& transcript) {
  std::vector<LlmMessage> messages;
  std::copy_if(transcript.begin(), transcript.end(),
               std::back_inserter(messages), [](const LlmMessage& message) {
                 return message.role == LlmMessage::Role::kUser &&
                        message.results.empty();
               });
  return messages;
}

}  // namespace sandglass::client
