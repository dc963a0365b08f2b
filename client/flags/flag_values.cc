#include "client/flags/flag_values.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"

namespace sandglass::client {
namespace {

absl::StatusOr<uint32_t> ParseCount(absl::string_view text) {
  uint32_t count = 0;
  if (!absl::SimpleAtoi(text, &count) || count == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no count: write a number from 1"));
  }
  return count;
}

// Puts "--flag" before the message of a value's parser.
template <typename T>
absl::Status ParseFlag(const CLI::Option* option,
                       absl::StatusOr<T> (*parse)(absl::string_view),
                       std::optional<T>& out) {
  const std::optional<std::string> text = ValueOf(option);
  if (!text) return absl::OkStatus();
  absl::StatusOr<T> value = parse(*text);
  if (!value.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        option->get_name(), ": ", VisibleText(value.status().message())));
  }
  out = *std::move(value);
  return absl::OkStatus();
}

}  // namespace

CLI::Option* AddValue(CLI::App& app, const std::string& name,
                      const std::string& help, const std::string& type) {
  CLI::Option* option = app.add_option(name, help);
  option->expected(1)->type_name(type);
  return option;
}

CLI::Option* AddValues(CLI::App& app, const std::string& name,
                       const std::string& help, const std::string& type) {
  CLI::Option* option =
      AddValue(app, name, absl::StrCat(help, " (repeatable)"), type);
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
  return option;
}

CLI::Option* AddWords(CLI::App& app, const std::string& name,
                      const std::string& help, const std::string& type) {
  CLI::Option* option = app.add_option(name, help);
  // With allow_extra_args(), CLI11 accepts more words but then reads "[a,b]" as
  // a list. It also accepts more as long as fewer than expected were given, and
  // with TakeAll fewer are enough.
  constexpr int kMany = 1 << 20;
  // ORDER: setting the policy changes the expected number.
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->expected(kMany, -1)
      ->type_name(type);
  return option;
}

std::optional<std::string> ValueOf(const CLI::Option* option) {
  if (option->results().empty()) return std::nullopt;
  return option->results().back();
}

absl::StatusOr<Pairs> PairsOf(const CLI::Option* option) {
  Pairs pairs;
  for (const std::string& text : option->results()) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          option->get_name(), " '", VisibleText(text), "': write NAME=VALUE"));
    }
    pairs.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return pairs;
}

absl::Status ParseTimeSpanFlag(const CLI::Option* option,
                               std::optional<absl::Duration>& out) {
  return ParseFlag(option, &ParseTimeSpan, out);
}

absl::Status ParseByteSizeFlag(const CLI::Option* option,
                               std::optional<uint64_t>& out) {
  return ParseFlag(option, &ParseByteSize, out);
}

absl::Status ParseCountFlag(const CLI::Option* option,
                            std::optional<uint32_t>& out) {
  return ParseFlag(option, &ParseCount, out);
}

LimitFlags::LimitFlags(CLI::App& app)
    : timeout_(
          AddValue(app, "--timeout", "Wall time limit, such as 5s", "TIME")),
      memory_(AddValue(app, "--memory", "Memory limit, such as 256M", "SIZE")),
      cpu_time_(AddValue(app, "--cpu-time", "Processor time limit, such as 2s",
                         "TIME")),
      pids_(
          AddValue(app, "--pids", "Most processes and threads at once", "N")) {}

absl::Status LimitFlags::Collect(LimitOptions& limits) const {
  absl::Status status = ParseTimeSpanFlag(timeout_, limits.timeout);
  status.Update(ParseTimeSpanFlag(cpu_time_, limits.cpu_time));
  status.Update(ParseByteSizeFlag(memory_, limits.memory_bytes));
  status.Update(ParseCountFlag(pids_, limits.max_processes));
  return status;
}

}  // namespace sandglass::client
