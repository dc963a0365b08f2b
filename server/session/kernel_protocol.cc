#include "server/session/kernel_protocol.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr size_t kMaxDepth = 100;
constexpr size_t kMaxMimeTypes = 32;
constexpr size_t kMaxTypeBytes = 128;
constexpr pid_t kMaxPid = 1 << 22;  // PID_MAX_LIMIT of linux/threads.h

absl::Status Malformed(const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the kernel said what is no event: ", what));
}

bool IsText(const std::string& type) {
  return absl::StartsWith(type, "text/") || type == "image/svg+xml" ||
         type == "application/javascript" || type == "application/xml";
}

bool IsJson(const std::string& type) {
  return type == "application/json" || absl::EndsWith(type, "+json");
}

// One line of JSON, in which invalid UTF-8 is replaced.
std::string Dump(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Handles an event while it is being parsed. No objects are made of it, since
// they would take thirty times the room of their text.
class EventReader : public Json::json_sax_t {
 public:
  // The event that was read, once all of it was. It is moved from.
  absl::StatusOr<KernelEvent> Event();
  // Says why the text is no event.
  const char* problem() const { return problem_; }

  bool null() override { return Scalar(nullptr); }
  bool boolean(bool value) override { return Scalar(value); }
  bool number_integer(Json::number_integer_t value) override {
    return Scalar(value);
  }
  bool number_unsigned(Json::number_unsigned_t value) override {
    return Scalar(value);
  }
  bool number_float(Json::number_float_t value,
                    const std::string& /*text*/) override {
    return Scalar(value);
  }
  bool string(std::string& value) override {
    if (depth_ == 2 && in_data_ && !IsJson(type_)) {
      ParseString(value);
    } else if (depth_ == 1 || taken_ || (depth_ == 2 && in_data_)) {
      return Scalar(std::move(value));
    }
    return true;
  }
  // JSON text has no binary values.
  bool binary(Json::binary_t& /*value*/) override { return false; }

  bool start_object(std::size_t /*size*/) override {
    if (depth_ == 1 && key_ == "data") {
      in_data_ = has_data_ = true;
      data_.clear();
      return Deeper();
    }
    return Open('{');
  }
  bool key(std::string& name) override {
    if (depth_ == 1) {
      key_ = std::move(name);
    } else if (depth_ == 2 && in_data_) {
      type_ = std::move(name);
    } else if (taken_) {
      absl::StrAppend(&text_, Dump(name), ":");
    }
    return true;
  }
  bool end_object() override { return Close('}'); }
  bool start_array(std::size_t /*size*/) override { return Open('['); }
  bool end_array() override { return Close(']'); }
  bool parse_error(std::size_t /*place*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  bool Deeper() {
    if (++depth_ <= kMaxDepth) return true;
    problem_ = "it is nested too deeply";
    return false;
  }

  bool Open(char bracket) {
    if (depth_ == 0 && bracket != '{') return false;
    if (depth_ == 1) StoreField(nullptr);
    if (depth_ == 2 && in_data_) {
      taken_ = IsJson(type_) && HasRoom();
      if (!taken_) LeaveOut(0);
      text_.clear();
    }
    if (taken_) text_ += bracket;
    return Deeper();
  }

  bool Close(char bracket) {
    --depth_;
    if (depth_ == 1) in_data_ = false;
    if (!taken_) return true;
    // Removes the comma after the last element.
    if (text_.back() == ',') text_.pop_back();
    text_ += bracket;
    if (depth_ > 2) {
      text_ += ',';
    } else {
      taken_ = false;
      data_[type_] = std::exchange(text_, "");
    }
    return true;
  }

  bool Scalar(Json value) {
    if (depth_ == 0) return false;
    if (depth_ == 1) {
      StoreField(std::move(value));
    } else if (taken_) {
      absl::StrAppend(&text_, Dump(value), ",");
    } else if (depth_ == 2 && in_data_) {
      if (IsJson(type_) && HasRoom()) {
        data_[type_] = Dump(value);
      } else {
        LeaveOut(0);
      }
    }
    return true;
  }

  void StoreField(Json value) {
    static constexpr const char* kNames[] = {
        "ev",   "id",   "pid",   "count",     "bytes", "exit_code",
        "kind", "name", "value", "traceback", "ack"};
    if (key_ == "data") has_data_ = false;
    if (std::ranges::find(kNames, key_) != std::end(kNames)) {
      fields_[key_] = std::move(value);
    }
  }

  bool HasRoom() const {
    return !type_.empty() && type_.size() <= kMaxTypeBytes &&
           IsPrintableAscii(type_) &&
           (data_.size() < kMaxMimeTypes || data_.count(type_) != 0);
  }

  // Takes text, or bytes in base64.
  void ParseString(std::string& value) {
    std::string bytes;
    if (!HasRoom() || !(IsText(type_) || absl::Base64Unescape(value, &bytes))) {
      return LeaveOut(value.size());
    }
    data_[type_] = std::move(IsText(type_) ? value : bytes);
  }

  void LeaveOut(uint64_t bytes) {
    ++left_out_;
    left_out_bytes_ += bytes;
  }

  // These note which fields are missing or of another type.
  uint64_t Number(const char* name,
                  uint64_t max = std::numeric_limits<uint64_t>::max()) {
    const Json& field = fields_[name];
    if (field.is_number_unsigned() && field.get<uint64_t>() <= max) {
      return field.get<uint64_t>();
    }
    bad_ = name;
    return 0;
  }
  std::string Text(const char* name) {
    Json& field = fields_[name];
    if (field.is_string()) return std::move(field.get_ref<std::string&>());
    bad_ = name;
    return "";
  }
  absl::Status status() const {
    if (bad_ == nullptr) return absl::OkStatus();
    return Malformed(absl::StrCat("\"", bad_, "\" is missing or wrong"));
  }

  absl::StatusOr<KernelEvent> Display();

  size_t depth_ = 0;
  std::string key_;   // of the event
  std::string type_;  // the type of the data being parsed
  bool in_data_ = false;
  bool taken_ = false;  // what is parsed is part of text_
  std::string text_;
  // Those of the event itself, by name; others than these are null, and left
  // out if no kind of event has them.
  std::map<std::string, Json> fields_;
  const char* bad_ = nullptr;  // the name of one that is missing or wrong
  bool has_data_ = false;
  std::map<std::string, std::string> data_;
  uint32_t left_out_ = 0;
  uint64_t left_out_bytes_ = 0;
  const char* problem_ = "it is no JSON object";
};

absl::StatusOr<KernelEvent> EventReader::Display() {
  KernelDisplay display;
  display.cell = Number("id");
  display.output.is_value = Text("kind") == "result";
  if (absl::Status wrong = status(); !wrong.ok()) return wrong;
  if (!has_data_) return Malformed("\"data\" is missing or wrong");
  display.waits = fields_["ack"] == true;
  display.left_out = left_out_;
  display.left_out_bytes = left_out_bytes_;
  for (auto& [type, bytes] : data_) {
    display.output.data.emplace_back(type, std::move(bytes));
  }
  // Plain text comes first, for clients that show only one format.
  std::stable_partition(
      display.output.data.begin(), display.output.data.end(),
      [](const auto& entry) { return entry.first == "text/plain"; });
  return display;
}

// The end of a long text, cut between characters.
std::string Tail(std::string text) {
  if (text.size() <= kMaxErrorBytes) return text;
  size_t begin = text.size() - kMaxErrorBytes;
  while (begin < text.size() && IsUtf8Continuation(text[begin])) {
    ++begin;
  }
  return text.substr(begin);
}

absl::StatusOr<KernelEvent> EventReader::Event() {
  const std::string kind = Text("ev");
  KernelEvent event;
  if (kind == "ready") {
    event = KernelReady{static_cast<pid_t>(Number("pid", kMaxPid))};
  } else if (kind == "display") {
    return Display();
  } else if (kind == "error") {
    KernelError error;
    error.cell = Number("id");
    error.words.name = Tail(Text("name"));
    error.words.value = Tail(Text("value"));
    error.words.traceback = Tail(Text("traceback"));
    event = std::move(error);
  } else if (kind == "clear") {
    event = KernelClear{Number("id")};
  } else if (kind == "dropped") {
    event = KernelDropped{Number("id"),
                          static_cast<uint32_t>(Number(
                              "count", std::numeric_limits<uint32_t>::max())),
                          Number("bytes")};
  } else if (kind == "done") {
    event =
        KernelDone{Number("id"), static_cast<int>(Number("exit_code", 255))};
  } else {
    return Malformed(absl::StrCat("\"ev\" is ", Quoted(kind)));
  }
  if (absl::Status wrong = status(); !wrong.ok()) return wrong;
  return event;
}

}  // namespace

std::string RunCommand(policy::KernelRecipe::Commands how, uint64_t cell,
                       std::string_view code, std::string_view stdin_data,
                       CellMode mode, const std::vector<std::string>& args) {
  // Of a file that an editor wrote. No interpreter takes it within a cell.
  if (code.starts_with(kByteOrderMark)) {
    code.remove_prefix(kByteOrderMark.size());
  }
  if (how == policy::KernelRecipe::Commands::kBytes) {
    const std::string input = absl::Base64Escape(AbslView(stdin_data));
    std::string words;
    for (const std::string& arg : args) words += arg + '\0';
    words = absl::Base64Escape(words);
    return absl::StrCat("run ", cell, " ", code.size(), " ", input.size(), " ",
                        words.size(), mode.last ? " last" : "", "\n",
                        AbslView(code), input, words);
  }
  Json command = {{"op", "run"},
                  {"id", cell},
                  {"code", code},
                  {"rich", mode.rich},
                  {"max_result_bytes", kMaxResultBytes},
                  {"max_results", kMaxResults}};
  if (mode.last) command["last"] = true;
  if (!args.empty()) command["args"] = args;
  if (!stdin_data.empty()) {
    command["stdin"] = absl::Base64Escape(AbslView(stdin_data));
  }
  return Dump(command) + "\n";
}

std::string AckCommand() { return "{\"op\":\"ack\"}\n"; }

absl::StatusOr<KernelEvent> ParseKernelEvent(std::string_view line) {
  EventReader event;
  if (!Json::sax_parse(line, &event)) return Malformed(event.problem());
  return event.Event();
}

bool KernelLines::Append(std::string_view data) {
  buffer_.append(data);
  return buffer_.size() <= kMaxEventBytes ||
         buffer_.find('\n', searched_) != std::string::npos;
}

std::optional<std::string> KernelLines::Next() {
  const size_t end = buffer_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = buffer_.size();
    return std::nullopt;
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  searched_ = 0;
  return line;
}

}  // namespace sandglass::server
