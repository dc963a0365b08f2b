// A conversation that was cut off at any moment is one that providers accept.

#include "client/agent/conversation_repair.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/llm/codec.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sandglass::client {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

LlmMessage UserSaid(const std::string& text) {
  LlmMessage message;
  message.text = text;
  return message;
}

LlmMessage ModelSaid(const std::string& text) {
  LlmMessage message = UserSaid(text);
  message.role = LlmMessage::Role::kModel;
  return message;
}

LlmMessage ModelCalled(const std::vector<std::string>& ids) {
  LlmMessage message = ModelSaid("");
  for (const std::string& id : ids) {
    message.calls.push_back({.id = id, .name = "run_code", .arguments = "{}"});
  }
  return message;
}

LlmMessage ToolResults(const std::vector<std::string>& ids) {
  LlmMessage message;
  for (const std::string& id : ids) {
    message.results.push_back({.call_id = id, .text = "it ran"});
  }
  return message;
}

// Reads a request's messages as its provider does, and says what that would
// refuse; empty: nothing.
class TurnChecker {
 public:
  void Call(const std::string& id) {
    Turn("model");
    open_.push_back(id);
  }
  void Result(const std::string& id) {
    Turn("user");
    const auto found = std::find(open_.begin(), open_.end(), id);
    if (found == open_.end()) {
      problem_ += "a result without its call: " + id + "\n";
    } else {
      open_.erase(found);
    }
  }
  void Words(const std::string& role) {
    if (!open_.empty()) problem_ += "words before the results\n";
    Turn(role);
    if (role == "user" && ++words_ > 1) problem_ += "two users' messages\n";
  }
  std::string problem() const {
    return open_.empty() ? problem_ : problem_ + "a call without its result\n";
  }

 private:
  void Turn(const std::string& role) {
    if (role != "user") words_ = 0;
  }
  std::vector<std::string> open_;
  std::string problem_;
  int words_ = 0;
};

std::string ProblemForChat(const json& body) {
  TurnChecker checker;
  for (const json& message : body["messages"]) {
    const std::string role = message["role"];
    if (role == "tool") {
      checker.Result(message["tool_call_id"]);
      continue;
    }
    checker.Words(role == "user" ? "user" : "model");
    if (!message.contains("tool_calls")) continue;
    for (const json& call : message["tool_calls"]) checker.Call(call["id"]);
  }
  return checker.problem();
}

std::string ProblemForAnthropic(const json& body) {
  TurnChecker checker;
  for (const json& message : body["messages"]) {
    for (const json& block : message["content"]) {
      if (block["type"] == "tool_use") {
        checker.Call(block["id"]);
      } else if (block["type"] == "tool_result") {
        checker.Result(block["tool_use_id"]);
      } else {
        checker.Words(message["role"]);
      }
    }
  }
  return checker.problem();
}

std::string ProblemForResponses(const json& body) {
  TurnChecker checker;
  for (const json& item : body["input"]) {
    const std::string type = item.value("type", "message");
    if (type == "function_call") {
      checker.Call(item["call_id"]);
    } else if (type == "function_call_output") {
      checker.Result(item["call_id"]);
    } else {
      checker.Words(item["role"]);
    }
  }
  return checker.problem();
}

// What any provider would refuse of the conversation with one more message.
std::string ProviderProblem(std::vector<LlmMessage> messages) {
  messages.push_back(UserSaid("go on"));
  LlmRequest request;
  request.model = "m";
  request.messages = std::move(messages);
  return ProblemForChat(MakeOpenAiChatCodec("http://x")->Body(request)) +
         ProblemForAnthropic(MakeAnthropicCodec()->Body(request)) +
         ProblemForResponses(MakeOpenAiResponsesCodec()->Body(request));
}

TEST(ConversationRepair, AWholeConversationStaysAsItIs) {
  EXPECT_THAT(RepairedConversation({}), IsEmpty());
  const std::vector<LlmMessage> whole =
      RepairedConversation({UserSaid("hi"), ModelCalled({"a", "b"}),
                            ToolResults({"a", "b"}), ModelSaid("done")});
  ASSERT_THAT(whole, SizeIs(4));
  EXPECT_EQ(whole[2].results[1].text, "it ran");
  EXPECT_EQ(ProviderProblem(whole), "");
}

TEST(ConversationRepair, WhereverItEndedProvidersAcceptIt) {
  const std::vector<LlmMessage> all = {
      UserSaid("hi"),           ModelCalled({"a", "b"}),
      ToolResults({"a", "b"}),  ModelCalled({"c"}),
      ToolResults({"c"}),       ModelSaid("done"),
      UserSaid("another time"), ModelCalled({"d", "e"}),
      ToolResults({"d", "e"}),  ModelSaid("done, too")};
  for (auto end = all.begin(); end <= all.end(); ++end) {
    const std::vector<LlmMessage> cut(all.begin(), end);
    EXPECT_EQ(ProviderProblem(RepairedConversation(cut)), "") << cut.size();
  }
  EXPECT_NE(ProviderProblem({all[0], all[1]}), "");
}

TEST(ConversationRepair, ACallWithoutItsResultIsToldToTheModel) {
  const std::vector<LlmMessage> repaired =
      RepairedConversation({UserSaid("hi"), ModelCalled({"a", "b", "c"}),
                            ToolResults({"c", "nobody's", "a"})});
  ASSERT_THAT(repaired, SizeIs(4));
  ASSERT_THAT(repaired[2].results, SizeIs(3));
  EXPECT_EQ(repaired[2].results[0].text, "it ran");
  EXPECT_EQ(repaired[2].results[1].call_id, "b");
  EXPECT_TRUE(repaired[2].results[1].is_error);
  EXPECT_THAT(repaired[2].results[1].text, HasSubstr("was cut off"));
  EXPECT_EQ(ProviderProblem(repaired), "");
}

// As an earlier version left them: it went on behind the call, and the
// provider's refusal became a turn.
TEST(ConversationRepair, ACutInTheMiddleIsMendedToo) {
  const std::vector<LlmMessage> repaired = RepairedConversation(
      {UserSaid("hi"), ModelCalled({"a"}), UserSaid("are you there?"),
       ModelSaid("[This answer failed for a technical reason.]")});
  ASSERT_THAT(repaired, SizeIs(6));
  EXPECT_EQ(repaired[2].results[0].call_id, "a");
  EXPECT_EQ(repaired[4].text, "are you there?");
  EXPECT_EQ(ProviderProblem(repaired), "");
}

}  // namespace
}  // namespace sandglass::client
