#include "client/llm/call_parts.h"

#include <string_view>
#include <utility>

#include "client/llm/json_value.h"
#include "client/llm/turn_parts.h"

namespace sandglass::client {

using nlohmann::json;

struct CallParts::Piece {
  std::optional<uint64_t> index;
  std::string_view id;
  std::string_view name;
  std::string arguments;
  bool first_of_delta = false;
};

absl::Status CallParts::Add(const json& pieces) {
  if (!pieces.is_array()) return absl::OkStatus();
  bool first = true;
  for (const json& value : pieces) {
    const json& function = JsonAt(value, "function");
    const json& arguments = JsonAt(function, "arguments");
    Piece piece;
    if (JsonAt(value, "index").is_number_unsigned()) {
      piece.index = JsonNumber(value, "index");
    }
    piece.id = JsonText(value, "id");
    piece.name = JsonText(function, "name");
    piece.arguments = arguments.is_object()
                          ? DumpJson(arguments)
                          : std::string(JsonText(function, "arguments"));
    piece.first_of_delta = std::exchange(first, false);
    if (absl::Status status = AddOne(piece); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CallParts::AddOne(const Piece& piece) {
  Part* part = Find(piece);
  if (part == nullptr) {
    if (calls_.size() >= kMaxParts) return TooManyParts();
    part = &calls_.emplace_back();
    part->index = piece.index;
  }
  LlmToolCall& call = part->call;
  if (call.id.empty()) call.id = piece.id;
  if (call.name != piece.name) call.name += piece.name;
  call.arguments += piece.arguments;
  part->brackets.Feed(piece.arguments);
  return absl::OkStatus();
}

void CallParts::Brackets::Feed(std::string_view text) {
  for (const char c : text) {
    if (in_string_) {
      if (c == '"' && !escaped_) in_string_ = false;
      escaped_ = c == '\\' && !escaped_;
      continue;
    }
    in_string_ = c == '"';
    if (c == '{' || c == '[') ++open_;
    if (c == '}' || c == ']') closed_ = --open_ == 0;
  }
}

CallParts::Part* CallParts::Find(const Piece& piece) {
  Part* found = nullptr;
  for (Part& part : calls_) {
    const bool same = piece.index.has_value()
                          ? part.index == piece.index
                          : !piece.id.empty() && part.call.id == piece.id;
    // If several have the same index, the last one is in progress.
    if (same) found = &part;
  }
  if (!piece.index.has_value() && found == nullptr && !calls_.empty() &&
      piece.id.empty() && (piece.first_of_delta || piece.name.empty())) {
    found = &calls_.back();
  }
  if (found == nullptr || piece.name.empty()) return found;
  const LlmToolCall& call = found->call;
  const bool another_id =
      !piece.id.empty() && !call.id.empty() && piece.id != call.id;
  // Arguments together with a name, after complete arguments, begin the next
  // call.
  const bool again = !piece.arguments.empty() && found->brackets.closed();
  return another_id || again ? nullptr : found;
}

std::vector<LlmToolCall> CallParts::Collect() {
  std::vector<LlmToolCall> calls;
  for (Part& part : std::exchange(calls_, {})) {
    calls.push_back(std::move(part.call));
  }
  return calls;
}

}  // namespace sandglass::client
