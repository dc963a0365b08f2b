#ifndef SANDGLASS_CLIENT_AGENT_AGENT_LOOP_H_
#define SANDGLASS_CLIENT_AGENT_AGENT_LOOP_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/agent/agent_interrupts.h"
#include "client/agent/agent_tools.h"
#include "client/agent/agent_view.h"
#include "client/llm/llm_client.h"

namespace sandglass::client {

struct AgentLoopOptions {
  std::string model;
  std::string system;
  uint32_t max_tokens = 8192;
  uint64_t context_tokens = 100'000;
  uint32_t max_rounds = 50;
  bool vision = false;  // send images of results to the model
};

// Why a turn ended.
enum class TurnEnd {
  kDone,         // the model has finished its answer
  kInterrupted,  // by the user
  kRefused,      // by the model, or by a filter of its provider
  kBounded,      // too many rounds of tools
  kFailed,       // the provider couldn't be asked; the view said why
};

// A conversation: sends what the user says to the model, carries out the tools
// that the model calls, and sends the results back, until it calls no more
// tools.
class AgentLoop {
 public:
  struct Parts {
    LlmClient* llm;
    AgentTools* tools;
    AgentView* view;
    AgentInterrupts* interrupts;
    // Called with each message as it is added; may be empty.
    std::function<void(const LlmMessage&)> on_message;
    // Called with the answer of each tool; may be empty.
    std::function<void(const ToolAnswer&)> on_answer;
    // Explains a failed request: for example, adds where the key comes from.
    std::function<std::string(const absl::Status&)> explain;
  };

  AgentLoop(Parts parts, AgentLoopOptions options,
            std::vector<LlmMessage> messages = {})
      : parts_(std::move(parts)),
        options_(std::move(options)),
        messages_(std::move(messages)) {}

  // Handles one message of the user and everything that follows from it.
  TurnEnd Turn(LlmMessage user);

  const std::vector<LlmMessage>& messages() const { return messages_; }

 private:
  TurnEnd Rounds();
  absl::StatusOr<LlmTurn> Ask();
  void CarryOut(const std::vector<LlmToolCall>& calls);
  ToolAnswer CarryOutOne(const LlmToolCall& call);
  // Whether the same calls are repeated without other calls in between.
  bool GoesInCircles(const std::vector<LlmToolCall>& calls);
  void Add(LlmMessage message);
  TurnEnd Stopped(const absl::Status& status);

  const Parts parts_;
  const AgentLoopOptions options_;
  std::vector<LlmMessage> messages_;
  LlmUsage usage_;
  int requests_ = 0;
  std::string last_calls_;
  int times_ = 0;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_AGENT_LOOP_H_
