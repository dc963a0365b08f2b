#include "client/operator/status_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "client/base/terminal_filter.h"
#include "client/base/text_fit.h"
#include "client/base/units.h"
#include "client/operator/status_sums.h"

namespace sandglass::client {
namespace {

// How many counts are shown if there are too many for a screen.
constexpr size_t kShownCounts = 6;

// The label of a row, and its text.
struct Row {
  std::string label;
  std::string text;
};
using Rows = std::vector<Row>;

// Puts labels in a column of their own, or above their text if there is no room
// beside it.
std::string Block(absl::string_view title, const Rows& rows, size_t width) {
  constexpr size_t kIndent = 2;
  constexpr size_t kMinText = 24;
  size_t column = 0;
  for (const Row& row : rows) {
    column = std::max(column, DisplayWidth(row.label) + kIndent);
  }
  const bool beside = width == 0 || width >= kIndent + column + kMinText;
  const size_t indent = beside ? kIndent + column : 2 * kIndent;
  const size_t room =
      width == 0 ? 0 : std::max<size_t>(width, indent + 1) - indent;
  std::string out;
  if (!title.empty()) {
    out = absl::StrCat(
        "\n", width == 0 ? std::string(title) : FitTo(title, width), "\n");
  }
  for (const Row& row : rows) {
    std::string head =
        beside ? absl::StrCat("  ", PadTo(row.label, column)) : "";
    if (!beside && !row.label.empty()) {
      absl::StrAppend(&out, "  ", FitTo(row.label, room + kIndent), "\n");
    }
    for (const std::string& line : WrapText(row.text, room)) {
      absl::StrAppend(&out, head.empty() ? std::string(indent, ' ') : head,
                      line, "\n");
      head.clear();
    }
  }
  return out;
}

std::string Counted(uint64_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

// A text such as "12 OK, 3 TIMEOUT".
std::string CountsText(const Counts& counts) {
  std::vector<std::string> parts;
  const size_t shown = std::min(counts.size(), kShownCounts);
  uint64_t rest = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i >= shown) {
      rest += counts[i].second;
      continue;
    }
    parts.push_back(
        absl::StrCat(counts[i].second, " ", VisibleText(counts[i].first)));
  }
  if (rest > 0) parts.push_back(absl::StrCat(rest, " of other kinds"));
  return absl::StrJoin(parts, ", ");
}

std::string Names(
    const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::vector<std::string> visible;
  for (const std::string& name : names) {
    // All of them are in the same package.
    visible.push_back(VisibleText(absl::StripPrefix(name, "sandglass.v1.")));
  }
  return absl::StrJoin(visible, ", ");
}

Rows ConditionRows(const v1::GetStatusResponse& status) {
  Rows rows;
  // What is wrong comes first.
  for (const bool holds : {false, true}) {
    for (const v1::Condition& condition : status.conditions()) {
      if (condition.holds() != holds) continue;
      Row row;
      row.label = absl::StrCat(holds ? "ok   " : "FAILS", "  ",
                               VisibleText(condition.name()));
      row.text = VisibleText(condition.detail());
      if (condition.has_since()) {
        const absl::Time since = FromProto(condition.since());
        absl::StrAppend(
            &row.text, row.text.empty() ? "" : " ", "(since ",
            absl::FormatTime("%Y-%m-%d %H:%M:%S", since, absl::LocalTimeZone()),
            ", ", FormatLongTime(FromProto(status.time()) - since), ")");
      }
      if (!holds) {
        absl::StrAppend(
            &row.text,
            condition.services().empty()
                ? "; calls are served all the same"
                : absl::StrCat("; not served: ", Names(condition.services())));
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

bool AllHold(const v1::GetStatusResponse& status) {
  return std::all_of(
      status.conditions().begin(), status.conditions().end(),
      [](const v1::Condition& condition) { return condition.holds(); });
}

std::string AuditText(const v1::GetStatusResponse& status) {
  if (!status.has_audit()) return "none is written";
  const v1::AuditState& audit = status.audit();
  std::string text = Counted(audit.lines(), "line");
  if (audit.lost_lines() > 0) {
    absl::StrAppend(&text, ", ", audit.lost_lines(), " LOST");
  }
  if (!audit.failure().empty()) {
    absl::StrAppend(&text, ", CAN'T BE WRITTEN (",
                    audit.when_unwritable() == "refuse" ? "runs are refused"
                                                        : "runs go on without",
                    "): ", VisibleText(audit.failure()));
  }
  return text;
}

std::string YardText(const v1::Yard& yard) {
  std::string text = Counted(yard.jails(), "jail");
  if (yard.spare_jails() > 0) {
    absl::StrAppend(&text, ", ", yard.spare_jails(), " spare");
  }
  absl::StrAppend(&text, ", ", yard.ending_jails(), " ending");
  if (yard.ending_jails() > 0) {
    absl::StrAppend(&text, " (longest for ",
                    FormatTimeSpan(FromProto(yard.longest_ending())), ")");
  }
  absl::StrAppend(&text, ", ", Counted(yard.cgroups(), "group"));
  if (yard.stray_cgroups() > 0) {
    absl::StrAppend(&text, " (", yard.stray_cgroups(), " STRAY)");
  }
  absl::StrAppend(&text, ", ", yard.processes(), " processes, ",
                  yard.open_fds(), " fds, ", yard.mounts(), " mounts");
  if (yard.zygote_starts() > 0) {
    absl::StrAppend(&text, ", ", Counted(yard.zygote_starts(), "zygote"),
                    " started, ", yard.zygote_deaths(), " died");
  }
  if (!yard.failing().empty()) {
    absl::StrAppend(&text, ", FAILING (", yard.setup_failures(),
                    " times): ", yard.failing());
  }
  return text;
}

Rows NowRows(const v1::GetStatusResponse& status) {
  const v1::Admission& room = status.admission();
  Rows rows = {
      {"runs",
       absl::StrCat(
           room.running(), " of ", room.max_running(),
           room.reserve() > 0
               ? absl::StrCat(" (", room.reserve(), " more for others)")
               : "",
           " running, ", room.queued(), " of ", room.max_queued(), " queued")},
      {"memory",
       absl::StrCat(
           FormatByteSize(room.memory_reserved_bytes()), " of ",
           FormatByteSize(room.memory_budget_bytes()),
           room.memory_reserve_bytes() > 0
               ? absl::StrCat(" (", FormatByteSize(room.memory_reserve_bytes()),
                              " more for others)")
               : "",
           " reserved")},
      {"sessions",
       absl::StrCat(status.sessions(), ", ",
                    Counted(status.commands(), "command"), " in them")}};
  absl::string_view label = "pool";
  for (const PoolSum& pool : PoolByKind(status)) {
    std::string text =
        absl::StrCat(VisibleText(pool.kind), ": ", pool.ready, " of ",
                     pool.target, " ready, ", Counted(pool.hits, "hit"), ", ",
                     pool.misses, pool.misses == 1 ? " miss" : " misses");
    if (pool.fill_failures > 0) {
      absl::StrAppend(&text, ", ", pool.fill_failures, " FAILED to be made");
    }
    rows.push_back({std::string(label), std::move(text)});
    label = "";
  }
  label = "yards";
  for (const v1::Yard& yard : status.yards()) {
    rows.push_back({std::string(label), absl::StrCat(VisibleText(yard.kind()),
                                                     ": ", YardText(yard))});
    label = "";
  }
  rows.push_back(
      {"daemon", absl::StrCat(FormatByteSize(status.resident_bytes()), ", ",
                              status.open_fds(), " of ", status.max_open_fds(),
                              " fds, ", status.threads(), " threads")});
  rows.push_back(
      {"metrics",
       status.metrics_address().empty()
           ? "not served"
           : absl::StrCat("http://", VisibleText(status.metrics_address()),
                          "/metrics")});
  return rows;
}

Rows SinceStartRows(const v1::GetStatusResponse& status) {
  const Counts outcomes = RunsByOutcome(status);
  const Counts errors = ErrorsByReason(status);
  Rows rows;
  if (outcomes.empty()) {
    rows.push_back({"runs", "none"});
  } else {
    rows.push_back(
        {"runs", absl::StrCat(SumOf(outcomes), ": ", CountsText(outcomes))});
    rows.push_back({"", CountsText(RunsByLanguage(status))});
  }
  rows.push_back({"errors", errors.empty() ? "none"
                                           : absl::StrCat(SumOf(errors), ": ",
                                                          CountsText(errors))});
  rows.push_back({"audit", AuditText(status)});
  rows.push_back(
      {"log", absl::StrCat(Counted(status.warnings(), "warning"), ", ",
                           Counted(status.log_errors(), "error"))});
  return rows;
}

}  // namespace

std::string StatusText(const v1::GetStatusResponse& status, size_t width) {
  std::string first = absl::StrCat(
      "sandglassd ", VisibleText(status.version()),
      status.ready() ? " is ready" : " is NOT READY",
      status.ready() && !AllHold(status) ? ", but not all is well" : "",
      status.draining() ? ", ending: it takes no more calls" : "", ", up ",
      FormatLongTime(FromProto(status.uptime())));
  return absl::StrCat(absl::StrJoin(WrapText(first, width), "\n"), "\n",
                      Block("", ConditionRows(status), width),
                      Block("Now", NowRows(status), width),
                      Block("Since the start", SinceStartRows(status), width));
}

}  // namespace sandglass::client
