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
  bool vision = false;  // images of results go to the model
};

// Why a turn ended.
enum class TurnEnd {
  kDone,         // the model has said what it has to say
  kInterrupted,  // by the user
  kRefused,      // the model, or its provider's filter, refused
  kBounded,      // too many rounds of tools
  kFailed,       // the provider could not be asked; the view has said why
};

// A conversation: sends what the user says to the model, carries out the tools
// that it calls, and sends the results back, until it calls none.
class AgentLoop {
 public:
  struct Parts {
    LlmClient* llm;
    AgentTools* tools;
    AgentView* view;
    AgentInterrupts* interrupts;
    // Hears each message as it is added; may be empty.
    std::function<void(const LlmMessage&)> on_message;
    // Hears the answer of each tool; may be empty.
    std::function<void(const ToolAnswer&)> on_answer;
    // Explains a failed request: adds where the key is, for example.
    std::function<std::string(const absl::Status&)> explain;
  };

  AgentLoop(Parts parts, AgentLoopOptions options,
            std::vector<LlmMessage> messages = {})
      : parts_(std::move(parts)),
        options_(std::move(options)),
        messages_(std::move(messages)) {}

  // One message of the user and all that follows from it.
  TurnEnd Turn(LlmMessage user);

  const std::vector<LlmMessage>& messages() const { return messages_; }

 private:
  TurnEnd Rounds();
  absl::StatusOr<LlmTurn> Ask();
  void CarryOut(const std::vector<LlmToolCall>& calls);
  ToolAnswer CarryOutOne(const LlmToolCall& call);
  // Calls that come again and again without another one between.
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
