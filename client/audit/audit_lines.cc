#include "client/audit/audit_lines.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/text_table.h"
#include "client/base/units.h"
#include "client/connection/daemon.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kShownRows = 100;
constexpr size_t kMaxCellBytes = 60;

// The value of a member that is text; empty when it isn't text or is missing.
std::string Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return "";
  return found->get<std::string>();
}

// The value of a member that is a number, as it is written; empty when it isn't
// a number or is missing.
std::string Number(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return "";
  return found->dump();
}

// Cuts between characters.
std::string Cut(std::string text) {
  if (text.size() <= kMaxCellBytes) return text;
  size_t end = kMaxCellBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return absl::StrCat(text.substr(0, end), "…");
}

// The outcome of a run, or the error that came instead.
std::string OutcomeOf(const Json& entry) {
  const std::string outcome = Text(entry, "outcome");
  return outcome.empty() ? Text(entry, "error") : outcome;
}

// The id of a run or a command.
std::string IdOf(const Json& entry) {
  const std::string run = Text(entry, "run_id");
  return run.empty() ? Text(entry, "exec_id") : run;
}

std::string ExitOf(const Json& entry) {
  const std::string code = Number(entry, "exit_code");
  return code.empty() ? Text(entry, "signal") : code;
}

std::string WallOf(const Json& entry) {
  const auto usage = entry.find("usage");
  if (usage == entry.end() || !usage->is_object()) return "";
  const auto wall = usage->find("wall_us");
  if (wall == usage->end() || !wall->is_number_integer()) return "";
  return FormatTimeSpan(absl::Microseconds(wall->get<int64_t>()));
}

std::string DetailOf(const Json& entry) {
  std::string detail;
  const auto add = [&](const std::string& text) {
    if (!text.empty()) {
      absl::StrAppend(&detail, detail.empty() ? "" : " ", text);
    }
  };
  add(Text(entry, "session_id"));
  add(Text(entry, "approval_id"));
  if (const std::string who = Text(entry, "approver"); !who.empty()) {
    add(absl::StrCat("approver=", who));
  }
  const auto labels = entry.find("labels");
  if (labels != entry.end() && labels->is_object()) {
    for (const auto& [name, value] : labels->items()) {
      if (value.is_string()) {
        add(absl::StrCat(name, "=", value.get<std::string>()));
      }
    }
  }
  if (const std::string by = Text(entry, "by"); !by.empty()) {
    add(absl::StrCat("by=", by));
  }
  // The profiles that another policy has added, changed or removed.
  for (const char* change : {"added", "changed", "removed"}) {
    const auto names = entry.find(change);
    if (names == entry.end() || !names->is_array()) continue;
    for (const Json& name : *names) {
      if (name.is_string()) {
        add(absl::StrCat(change, "=", name.get<std::string>()));
      }
    }
  }
  add(Text(entry, "reason"));
  add(Text(entry, "version"));
  if (const std::string lost = Number(entry, "lost"); !lost.empty()) {
    add(absl::StrCat("lost=", lost));
  }
  if (const std::string torn = Number(entry, "torn_bytes"); !torn.empty()) {
    add(absl::StrCat("torn_bytes=", torn));
  }
  return detail;
}

bool Is(const std::string& wanted, const std::string& value) {
  return wanted.empty() || wanted == value;
}

bool IsWanted(const AuditShowOptions& options, const policy::AuditLine& parts,
              const Json& entry) {
  if (options.since || options.until) {
    absl::Time time;
    std::string error;
    if (!absl::ParseTime(absl::RFC3339_full, parts.time, &time, &error) ||
        (options.since && time < *options.since) ||
        (options.until && time >= *options.until)) {
      return false;
    }
  }
  return Is(options.event, std::string(parts.event)) &&
         Is(options.caller, Text(entry, "caller")) &&
         Is(options.language, Text(entry, "lang")) &&
         Is(options.run_id, IdOf(entry)) &&
         Is(options.session_id, Text(entry, "session_id")) &&
         (options.outcome.empty() ||
          absl::EqualsIgnoreCase(options.outcome, OutcomeOf(entry)));
}

// Whether the text is printable ASCII, as all lines are when they are written.
bool IsPrintable(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

AuditLines::AuditLines(const AuditShowOptions& options)
    : options_(options),
      max_(options.last ? *options.last : (options.json ? 0 : kShownRows)) {}

void AuditLines::Append(absl::string_view line,
                        const policy::AuditLine& parts) {
  if (printed_ != kExitOk) return;
  const Json entry = Json::parse(line.begin(), line.end(), nullptr,
                                 /*allow_exceptions=*/false);
  if (!IsPrintable(line) || !entry.is_object()) {
    ++unreadable_;
    return;
  }
  if (!IsWanted(options_, parts, entry)) return;
  if (options_.json) {
    Keep(absl::StrCat(line, "\n"), {});
    return;
  }
  Row row = {absl::StrCat(parts.seq),
             std::string(parts.time),
             std::string(parts.event),
             Text(entry, "caller"),
             Text(entry, "lang"),
             OutcomeOf(entry),
             ExitOf(entry),
             WallOf(entry),
             IdOf(entry),
             DetailOf(entry)};
  for (std::string& cell : row) cell = Cut(std::move(cell));
  Keep("", std::move(row));
}

void AuditLines::Keep(std::string line, Row row) {
  if (max_ == 0) {
    printed_ = PrintText(line);
    return;
  }
  if (options_.json) {
    lines_.push_back(std::move(line));
    if (lines_.size() > max_) lines_.pop_front();
    return;
  }
  rows_.push_back(std::move(row));
  if (rows_.size() > max_) {
    rows_.pop_front();
    ++left_out_;
  }
}

int AuditLines::Finish() {
  for (const std::string& line : lines_) {
    if (printed_ == kExitOk) printed_ = PrintText(line);
  }
  if (!options_.json && printed_ == kExitOk) {
    std::vector<Row> table = {{"SEQ", "TIME", "EVENT", "CALLER", "LANGUAGE",
                               "OUTCOME", "EXIT", "WALL", "ID", "DETAIL"}};
    table.insert(table.end(), std::make_move_iterator(rows_.begin()),
                 std::make_move_iterator(rows_.end()));
    printed_ = PrintText(TextTable(table, ""));
  }
  std::string notes;
  if (left_out_ > 0 && !options_.last) {
    absl::StrAppend(&notes, "sandglass: ", left_out_,
                    " earlier lines are not shown; --last N shows more\n");
  }
  if (unreadable_ > 0) {
    absl::StrAppend(&notes, "sandglass: ", unreadable_,
                    " lines are no JSON and are not shown\n");
  }
  WriteAll(STDERR_FILENO, notes);
  return printed_;
}

}  // namespace sandglass::client
