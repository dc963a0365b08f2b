#include "server/kernel_protocol.h"

#include <algorithm>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "server/text.h"

namespace sandglass::server {
namespace {

using Json = nlohmann::json;

// dump() of nlohmann's calls itself.
constexpr size_t kMostDepth = 100;
constexpr size_t kMaxMimeTypes = 32;
constexpr size_t kMaxTypeBytes = 128;
constexpr pid_t kMaxPid = 1 << 22;  // PID_MAX_LIMIT of linux/threads.h

bool IsShallow(std::string_view text) {
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMostDepth) return false;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return true;
}

absl::Status Malformed(const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the kernel said what is no event: ", what));
}

// Getters that note what is missing or of another type.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  uint64_t Number(const char* name, uint64_t most) {
    const auto it = object_.find(name);
    if (it == object_.end() || !it->is_number_unsigned() ||
        it->get<uint64_t>() > most) {
      bad_ = name;
      return 0;
    }
    return it->get<uint64_t>();
  }

  std::string Text(const char* name) {
    const auto it = object_.find(name);
    if (it == object_.end() || !it->is_string()) {
      bad_ = name;
      return "";
    }
    return it->get<std::string>();
  }

  absl::Status status() const {
    if (bad_ == nullptr) return absl::OkStatus();
    return Malformed(absl::StrCat("\"", bad_, "\" is missing or wrong"));
  }

 private:
  const Json& object_;
  const char* bad_ = nullptr;
};

bool IsText(const std::string& type) {
  return absl::StartsWith(type, "text/") || type == "image/svg+xml" ||
         type == "application/javascript" || type == "application/xml";
}

bool IsJson(const std::string& type) {
  return type == "application/json" || absl::EndsWith(type, "+json");
}

// False when the value is not of the type's kind.
bool TakeValue(const std::string& type, const Json& value, std::string& data) {
  if (IsJson(type)) {
    data = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    return true;
  }
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  if (IsText(type)) {
    data = text;
    return true;
  }
  return absl::Base64Unescape(text, &data);
}

absl::StatusOr<KernelEvent> ParseDisplay(const Json& json) {
  Fields fields(json);
  KernelDisplay display;
  display.cell = fields.Number("id", std::numeric_limits<uint64_t>::max());
  const std::string kind = fields.Text("kind");
  if (absl::Status status = fields.status(); !status.ok()) return status;
  display.output.is_value = kind == "result";
  const auto waits = json.find("ack");
  display.waits =
      waits != json.end() && waits->is_boolean() && waits->get<bool>();
  const auto data = json.find("data");
  if (data == json.end() || !data->is_object()) {
    return Malformed("\"data\" is missing or wrong");
  }
  for (const auto& [type, value] : data->items()) {
    std::string bytes;
    if (type.empty() || type.size() > kMaxTypeBytes ||
        display.output.data.size() >= kMaxMimeTypes ||
        !IsPrintableAscii(type) || !TakeValue(type, value, bytes)) {
      ++display.left_out;
      display.left_out_bytes +=
          value.is_string() ? value.get_ref<const std::string&>().size() : 0;
      continue;
    }
    display.output.data.emplace_back(type, std::move(bytes));
  }
  // For whoever shows only one.
  std::stable_partition(
      display.output.data.begin(), display.output.data.end(),
      [](const auto& entry) { return entry.first == "text/plain"; });
  return display;
}

// The end of a long text, cut where a character begins.
std::string Tail(std::string text) {
  if (text.size() <= kMaxErrorBytes) return text;
  size_t begin = text.size() - kMaxErrorBytes;
  while (begin < text.size() &&
         (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) {
    ++begin;
  }
  return text.substr(begin);
}

absl::StatusOr<KernelEvent> ParseObject(const Json& json) {
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  constexpr uint64_t kMost32 = std::numeric_limits<uint32_t>::max();
  Fields fields(json);
  const std::string kind = fields.Text("ev");
  KernelEvent event;
  if (kind == "ready") {
    event = KernelReady{static_cast<pid_t>(fields.Number("pid", kMaxPid))};
  } else if (kind == "display") {
    return ParseDisplay(json);
  } else if (kind == "error") {
    KernelError error;
    error.cell = fields.Number("id", kMost);
    error.words.name = Tail(fields.Text("name"));
    error.words.value = Tail(fields.Text("value"));
    error.words.traceback = Tail(fields.Text("traceback"));
    event = std::move(error);
  } else if (kind == "clear") {
    event = KernelClear{fields.Number("id", kMost)};
  } else if (kind == "dropped") {
    event =
        KernelDropped{fields.Number("id", kMost),
                      static_cast<uint32_t>(fields.Number("count", kMost32)),
                      fields.Number("bytes", kMost)};
  } else if (kind == "done") {
    event = KernelDone{fields.Number("id", kMost),
                       static_cast<int>(fields.Number("exit_code", 255)),
                       static_cast<uint32_t>(fields.Number("count", kMost32))};
  } else {
    return Malformed(absl::StrCat("\"ev\" is ", Quote(kind)));
  }
  if (absl::Status status = fields.status(); !status.ok()) return status;
  return event;
}

}  // namespace

std::string RunCommand(policy::KernelRecipe::Commands how, uint64_t cell,
                       std::string_view code, std::string_view stdin_data,
                       bool rich) {
  if (how == policy::KernelRecipe::Commands::kBytes) {
    const std::string input = absl::Base64Escape(AbslView(stdin_data));
    return absl::StrCat("run ", cell, " ", code.size(), " ", input.size(), "\n",
                        AbslView(code), input);
  }
  Json command = {{"op", "run"},
                  {"id", cell},
                  {"code", code},
                  {"rich", rich},
                  {"max_result_bytes", kMaxResultBytes},
                  {"max_results", kMaxResults}};
  if (!stdin_data.empty()) {
    command["stdin"] = absl::Base64Escape(AbslView(stdin_data));
  }
  return command.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string AckCommand() { return "{\"op\":\"ack\"}\n"; }

absl::StatusOr<KernelEvent> ParseKernelEvent(std::string_view line) {
  if (!IsShallow(line)) return Malformed("it is nested too deeply");
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Malformed("it is no JSON object");
  return ParseObject(json);
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
