#include "client/agent/conversation_repair.h"

#include <algorithm>
#include <string>
#include <utility>

namespace sandglass::client {
namespace {

constexpr char kCutResult[] =
    "This call was cut off: the agent ended before its result. It may have "
    "done all, some or nothing of its work; look before you do it again.";
constexpr char kCutTurn[] = "[This answer was cut off.]";

bool IsUsers(const LlmMessage& message) {
  return message.role == LlmMessage::Role::kUser;
}

// The results of `calls`, in their order; `results` are those that there are.
std::vector<LlmToolResult> CompleteResults(
    const std::vector<LlmToolCall>& calls, std::vector<LlmToolResult> results) {
  std::vector<LlmToolResult> complete;
  for (const LlmToolCall& call : calls) {
    const auto found = std::find_if(
        results.begin(), results.end(),
        [&](const LlmToolResult& each) { return each.call_id == call.id; });
    if (found != results.end()) {
      complete.push_back(std::move(*found));
      results.erase(found);
    } else {
      complete.push_back(
          {.call_id = call.id, .text = kCutResult, .is_error = true});
    }
  }
  return complete;
}

}  // namespace

std::vector<LlmMessage> RepairedConversation(std::vector<LlmMessage> messages) {
  std::vector<LlmMessage> repaired;
  const auto end_of_users = [&] {
    if (repaired.empty() || !IsUsers(repaired.back())) return;
    LlmMessage note;
    note.role = LlmMessage::Role::kModel;
    note.text = kCutTurn;
    repaired.push_back(std::move(note));
  };
  for (size_t i = 0; i < messages.size(); ++i) {
    if (IsUsers(messages[i])) end_of_users();
    repaired.push_back(std::move(messages[i]));
    if (repaired.back().calls.empty()) continue;
    const std::vector<LlmToolCall> calls = repaired.back().calls;
    LlmMessage results;
    const bool kept = i + 1 < messages.size() && IsUsers(messages[i + 1]) &&
                      !messages[i + 1].results.empty();
    if (kept) results = std::move(messages[++i]);
    results.results = CompleteResults(calls, std::move(results.results));
    repaired.push_back(std::move(results));
  }
  end_of_users();
  return repaired;
}

}  // namespace sandglass::client
