#ifndef SANDGLASS_CLIENT_AGENT_REPLAY_CLIENT_H_
#define SANDGLASS_CLIENT_AGENT_REPLAY_CLIENT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "client/llm/llm_client.h"

namespace sandglass::client {

// Returns the model's turns from a transcript, in their order, whatever it is
// asked. OUT_OF_RANGE when there are no more.
class ReplayClient : public LlmClient {
 public:
  explicit ReplayClient(const std::vector<LlmMessage>& transcript);

  absl::StatusOr<LlmTurn> Ask(
      const LlmRequest& request, const LlmListener& listener,
      const std::function<void(const std::string&, absl::Duration)>& on_wait,
      const std::atomic<bool>& cancel) override;

 private:
  std::vector<LlmMessage> turns_;
  size_t next_ = 0;
};

// The user's messages in a transcript.
std::vector<LlmMessage> UserMessages(const std::vector<LlmMessage>& transcript);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_REPLAY_CLIENT_H_
