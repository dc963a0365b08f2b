#include "client/agent/agent_loop.h"

#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/agent/context_bound.h"
#include "client/agent/conversation_repair.h"

namespace sandglass::client {
namespace {

// How often the same calls may come in a row.
constexpr int kWarnAfter = 3;
constexpr int kStopAfter = 6;
constexpr int kMaxPauses = 10;

}  // namespace

void AgentLoop::Add(LlmMessage message) {
  messages_.push_back(std::move(message));
  if (parts_.on_message) parts_.on_message(messages_.back());
}

TurnEnd AgentLoop::Turn(LlmMessage user) {
  const AgentInterrupts::TurnScope scope(*parts_.interrupts);
  usage_ = {};
  requests_ = 0;
  last_calls_.clear();
  times_ = 0;
  messages_ = RepairedConversation(std::move(messages_));
  Add(std::move(user));
  const TurnEnd end = Rounds();
  parts_.view->EndOfText();
  parts_.view->Usage(usage_, requests_);
  return end;
}

TurnEnd AgentLoop::Rounds() {
  int pauses = 0;
  for (uint32_t round = 0; round <= options_.max_rounds;) {
    if (parts_.view->output_error() != 0) return TurnEnd::kFailed;
    absl::StatusOr<LlmTurn> turn = Ask();
    parts_.view->EndOfText();
    if (!turn.ok()) return Stopped(turn.status());
    const std::vector<LlmToolCall> calls = turn->message.calls;
    Add(std::move(turn->message));
    if (turn->stop == LlmStop::kRefusal) {
      parts_.view->ShowNote(
          absl::StrCat("the model refused (", turn->stop_reason, ")"));
      return TurnEnd::kRefused;
    }
    if (turn->stop == LlmStop::kPause && calls.empty()) {
      if (++pauses > kMaxPauses) return TurnEnd::kBounded;
      continue;
    }
    if (calls.empty()) {
      if (turn->stop == LlmStop::kLength) {
        parts_.view->ShowNote(
            "the answer met the bound of its length (max_tokens)");
      }
      return TurnEnd::kDone;
    }
    ++round;
    if (round > options_.max_rounds) break;
    if (GoesInCircles(calls)) {
      parts_.view->ShowNote(absl::StrCat(
          "stopped: the model made the same call ", times_, " times in a row"));
      CarryOut({});
      return TurnEnd::kBounded;
    }
    CarryOut(calls);
    if (parts_.interrupts->turn_cancelled()) {
      return Stopped(absl::CancelledError(""));
    }
  }
  parts_.view->ShowNote(
      absl::StrCat("stopped after ", options_.max_rounds,
                   " rounds of tools; --max-rounds allows more"));
  CarryOut({});
  return TurnEnd::kBounded;
}

absl::StatusOr<LlmTurn> AgentLoop::Ask() {
  LlmRequest request;
  request.model = options_.model;
  request.system = options_.system;
  request.messages = messages_;
  request.tools = parts_.tools->Definitions();
  request.max_tokens = options_.max_tokens;
  if (KeepWithin(options_.context_tokens, request.messages)) {
    messages_ = request.messages;
  }
  LlmListener listener;
  listener.on_text = [this](std::string_view text) {
    parts_.view->ModelText(text);
  };
  listener.on_thinking = [this](std::string_view text) {
    parts_.view->Thinking(text);
  };
  const auto on_wait = [this](const std::string& why, absl::Duration wait) {
    parts_.view->ShowNote(absl::StrCat(why, "; trying again in ",
                                       absl::ToInt64Milliseconds(wait), " ms"));
  };
  absl::StatusOr<LlmTurn> turn = parts_.llm->Ask(
      request, listener, on_wait, parts_.interrupts->turn_cancelled());
  if (!turn.ok()) return turn;
  ++requests_;
  usage_.input_tokens += turn->usage.input_tokens;
  usage_.output_tokens += turn->usage.output_tokens;
  usage_.cached_tokens += turn->usage.cached_tokens;
  return turn;
}

TurnEnd AgentLoop::Stopped(const absl::Status& status) {
  const bool interrupted = absl::IsCancelled(status);
  // Providers require turns to alternate, and the next one is the user's.
  if (messages_.back().role == LlmMessage::Role::kUser) {
    LlmMessage note;
    note.role = LlmMessage::Role::kModel;
    note.text = interrupted ? "[The user stopped this answer.]"
                            : "[This answer failed for a technical reason.]";
    Add(std::move(note));
  }
  parts_.view->ShowNote(interrupted ? std::string("stopped")
                                    : parts_.explain(status));
  return interrupted ? TurnEnd::kInterrupted : TurnEnd::kFailed;
}

bool AgentLoop::GoesInCircles(const std::vector<LlmToolCall>& calls) {
  std::string all;
  for (const LlmToolCall& call : calls) {
    absl::StrAppend(&all, call.name, "\n", call.arguments, "\n");
  }
  times_ = all == last_calls_ ? times_ + 1 : 1;
  last_calls_ = std::move(all);
  return times_ > kStopAfter;
}

ToolAnswer AgentLoop::CarryOutOne(const LlmToolCall& call) {
  CallCancel cancel;
  const AgentInterrupts::ToolScope scope(*parts_.interrupts, cancel);
  parts_.view->ToolStarts(call);
  ToolAnswer answer;
  if (cancel.cancelled()) {
    answer.text = "The user stopped this before it began.";
    answer.is_error = true;
  } else {
    answer = parts_.tools->Call(call, cancel, [this](std::string_view bytes) {
      parts_.view->ToolOutput(bytes);
    });
    if (cancel.cancelled()) {
      answer.text = absl::StrCat("The user stopped this call.\n", answer.text);
      answer.is_error = true;
    }
  }
  parts_.view->ToolEnds(call, answer);
  return answer;
}

// The results of the last message's calls; `calls` are those to carry out.
void AgentLoop::CarryOut(const std::vector<LlmToolCall>& calls) {
  const std::vector<LlmToolCall> asked = messages_.back().calls;
  std::vector<ToolAnswer> answers(asked.size());
  if (calls.empty()) {
    for (ToolAnswer& answer : answers) {
      answer.text = "This call was not carried out: there were too many.";
      answer.is_error = true;
    }
  } else {
    std::map<std::string, std::vector<size_t>> of_sandbox;
    for (size_t i = 0; i < calls.size(); ++i) {
      of_sandbox[parts_.tools->SandboxOf(calls[i])].push_back(i);
    }
    const auto in_turn = [&](const std::vector<size_t>& places) {
      for (const size_t i : places) answers[i] = CarryOutOne(calls[i]);
    };
    std::vector<std::thread> threads;
    for (auto it = std::next(of_sandbox.begin()); it != of_sandbox.end();
         ++it) {
      threads.emplace_back(in_turn, it->second);
    }
    in_turn(of_sandbox.begin()->second);
    for (std::thread& thread : threads) thread.join();
  }
  LlmMessage results;
  for (size_t i = 0; i < asked.size(); ++i) {
    if (parts_.on_answer && !calls.empty()) parts_.on_answer(answers[i]);
    LlmToolResult result = {.call_id = asked[i].id,
                            .text = std::move(answers[i].text),
                            .is_error = answers[i].is_error};
    if (times_ >= kWarnAfter) {
      absl::StrAppend(&result.text, "\n[You made this same call ", times_,
                      " times. Do something else, or say what is missing.]");
    }
    if (options_.vision) {
      for (ToolImage& image : answers[i].images) {
        result.images.push_back(
            {std::move(image.mime_type), std::move(image.bytes)});
      }
    }
    results.results.push_back(std::move(result));
  }
  Add(std::move(results));
}

}  // namespace sandglass::client
