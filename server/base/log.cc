#include "server/base/log.h"

#include <atomic>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "sandbox/os/clocks.h"
#include "server/base/strings.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace sandglass::server {
namespace {

constexpr size_t kMaxValueBytes = 1024;

std::atomic<LogFormat> log_format{LogFormat::kText};
std::atomic<uint64_t> warnings{0};
std::atomic<uint64_t> errors{0};

struct SpdlogLevel {
  const char* name;
  spdlog::level::level_enum value;
};

const SpdlogLevel& SpdlogLevelOf(LogLevel level) {
  static constexpr SpdlogLevel kLevels[] = {{"debug", spdlog::level::debug},
                                            {"info", spdlog::level::info},
                                            {"warning", spdlog::level::warn},
                                            {"error", spdlog::level::err}};
  return kLevels[static_cast<size_t>(level)];
}

spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>(
        "sandglassd", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%v");
    made->set_level(spdlog::level::info);
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *logger;
}

bool NeedsQuotes(std::string_view text) {
  if (text.empty() || !IsPrintableAscii(text)) return true;
  return text.find_first_of(" \"=\\") != std::string_view::npos;
}

struct TextValue {
  std::string operator()(const std::string& text) const {
    return NeedsQuotes(text) || text.size() > kMaxValueBytes
               ? Quoted(text, kMaxValueBytes)
               : text;
  }
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(uint64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const {
    return absl::StrFormat("%.3f", value);
  }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
};

struct JsonValue {
  nlohmann::ordered_json operator()(const std::string& text) const {
    return text.substr(0, kMaxValueBytes);
  }
  template <typename T>
  nlohmann::ordered_json operator()(T value) const {
    return value;
  }
};

bool IsLeftOut(const LogField& field) {
  const auto* text = std::get_if<std::string>(&field.value);
  return field.only_if_any && text != nullptr && text->empty();
}

}  // namespace

std::string FormatLogLine(LogFormat format, std::string_view time,
                          LogLevel level, std::string_view event,
                          std::initializer_list<LogField> fields) {
  if (format == LogFormat::kJson) {
    nlohmann::ordered_json line;
    if (!time.empty()) line["time"] = time;
    line["level"] = SpdlogLevelOf(level).name;
    line["event"] = event;
    for (const LogField& field : fields) {
      if (IsLeftOut(field)) continue;
      line[std::string(field.key)] = std::visit(JsonValue{}, field.value);
    }
    return line.dump(-1, ' ', /*ensure_ascii=*/true,
                     nlohmann::ordered_json::error_handler_t::replace);
  }
  std::string line =
      absl::StrCat(AbslView(time), time.empty() ? "" : " ",
                   SpdlogLevelOf(level).name, " ", AbslView(event));
  for (const LogField& field : fields) {
    if (IsLeftOut(field)) continue;
    absl::StrAppend(&line, " ", AbslView(field.key), "=",
                    std::visit(TextValue{}, field.value));
  }
  return line;
}

void StartLog(LogLevel level, LogFormat format) {
  log_format = format;
  Logger().set_level(SpdlogLevelOf(level).value);
}

void Log(LogLevel level, std::string_view event,
         std::initializer_list<LogField> fields) {
  if (level == LogLevel::kWarning) ++warnings;
  if (level == LogLevel::kError) ++errors;
  const spdlog::level::level_enum spdlog_level = SpdlogLevelOf(level).value;
  if (!Logger().should_log(spdlog_level)) return;
  const std::string time = absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ",
                                            os::WallNow(), absl::UTCTimeZone());
  const std::string line =
      FormatLogLine(log_format, time, level, event, fields);
  Logger().log(spdlog_level, spdlog::string_view_t(line.data(), line.size()));
}

LogCounts CountsOfLog() { return {warnings, errors}; }

}  // namespace sandglass::server
