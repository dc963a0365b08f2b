#include "client/operator/top_screen.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "client/base/exit_codes.h"
#include "client/base/terminal_filter.h"
#include "client/base/text_fit.h"
#include "client/base/units.h"
#include "client/operator/status_sums.h"

namespace sandglass::client {
namespace {

using Look = ScreenLine::Look;
using Lines = std::vector<ScreenLine>;

constexpr size_t kEndless = std::numeric_limits<size_t>::max();
constexpr int kShownConditions = 3;
// Limits names that callers chose, so that there is room for the other columns.
constexpr size_t kMaxCell = 32;

// A column of a table. If there is no room for all columns, those with the
// highest rank are left out first.
struct Column {
  std::string title;
  int rank;
  std::vector<std::string> cells;
};

// A title and the rows, each as wide as fits.
Lines Table(std::vector<Column> columns, size_t width) {
  std::vector<size_t> widths;
  const auto total = [&] {
    widths.clear();
    size_t sum = 0;
    for (const Column& column : columns) {
      size_t max = DisplayWidth(column.title);
      for (const std::string& cell : column.cells) {
        max = std::max(max, DisplayWidth(cell));
      }
      widths.push_back(max);
      sum += max + 2;
    }
    return sum - 2;
  };
  while (total() > width && columns.size() > 1) {
    columns.erase(std::max_element(
        columns.begin(), columns.end(),
        [](const Column& a, const Column& b) { return a.rank < b.rank; }));
  }
  Lines lines;
  for (size_t row = 0; row <= columns.front().cells.size(); ++row) {
    std::string text;
    for (size_t i = 0; i < columns.size(); ++i) {
      const std::string& cell =
          row == 0 ? columns[i].title : columns[i].cells[row - 1];
      absl::StrAppend(&text, i == 0 ? "" : "  ", PadTo(cell, widths[i]));
    }
    lines.push_back({FitTo(absl::StripTrailingAsciiWhitespace(text), width),
                     row == 0 ? Look::kTitle : Look::kPlain});
  }
  return lines;
}

std::string Cell(absl::string_view text) {
  return text.empty() ? "-" : FitTo(VisibleText(text), kMaxCell);
}

// How many times per second something was counted; "-" when that is unknown.
std::string Rate(uint64_t before, uint64_t now, absl::Duration between) {
  if (between <= absl::ZeroDuration() || now < before) return "-";
  const double rate =
      static_cast<double>(now - before) / absl::ToDoubleSeconds(between);
  return rate < 10 ? absl::StrFormat("%.1f/s", rate)
                   : absl::StrFormat("%.0f/s", rate);
}

// Short facts, as many per line as fit.
std::vector<std::string> Facts(const TopSnapshot* before,
                               const TopSnapshot& now) {
  const v1::GetStatusResponse& status = now.status;
  const v1::Admission& room = status.admission();
  // If the two are from different daemons, nothing can be computed.
  const absl::Duration between =
      before == nullptr
          ? absl::ZeroDuration()
          : FromProto(status.uptime()) - FromProto(before->status.uptime());
  const auto rate = [&](Counts (*counts)(const v1::GetStatusResponse&)) {
    return before == nullptr ? "-"
                             : Rate(SumOf(counts(before->status)),
                                    SumOf(counts(status)), between);
  };
  return {absl::StrCat("runs ", rate(&RunsByOutcome)),
          absl::StrCat("errors ", rate(&ErrorsByReason)),
          absl::StrCat("running ", room.running(), "/", room.max_running()),
          absl::StrCat("queued ", room.queued(), "/", room.max_queued()),
          absl::StrCat("memory ", FormatByteSize(room.memory_reserved_bytes()),
                       "/", FormatByteSize(room.memory_budget_bytes())),
          absl::StrCat("sessions ", status.sessions()),
          absl::StrCat("commands ", status.commands()),
          absl::StrCat("daemon ", FormatByteSize(status.resident_bytes()))};
}

Lines Header(const TopSnapshot* before, const TopSnapshot& now,
             absl::string_view trouble, size_t width) {
  const v1::GetStatusResponse& status = now.status;
  const bool well = status.ready() && !status.draining();
  Lines lines;
  lines.push_back(
      {FitTo(absl::StrCat("sandglassd ", VisibleText(status.version()), " ",
                          status.draining() ? "ENDING"
                          : well            ? "ready"
                                            : "NOT READY",
                          ", up ", FormatLongTime(FromProto(status.uptime())),
                          ", ",
                          absl::FormatTime("%H:%M:%S", FromProto(status.time()),
                                           absl::LocalTimeZone())),
             width),
       well ? Look::kTitle : Look::kAlert});
  if (!trouble.empty()) {
    lines.push_back({FitTo(VisibleText(trouble), width), Look::kAlert});
  }
  int shown = 0;
  for (const v1::Condition& condition : status.conditions()) {
    if (condition.holds() || ++shown > kShownConditions) continue;
    lines.push_back(
        {FitTo(absl::StrCat("fails: ", VisibleText(condition.name()), ": ",
                            VisibleText(condition.detail())),
               width),
         Look::kAlert});
  }
  std::string line;
  for (const std::string& fact : Facts(before, now)) {
    if (!line.empty() && DisplayWidth(line) + 2 + DisplayWidth(fact) > width) {
      lines.push_back({std::exchange(line, ""), Look::kPlain});
    }
    line = FitTo(absl::StrCat(line, line.empty() ? "" : "  ", fact), width);
  }
  lines.push_back({std::move(line), Look::kPlain});
  return lines;
}

Lines PoolSection(const v1::GetStatusResponse& status, size_t width) {
  if (status.pool().empty()) return {};
  std::vector<Column> columns = {
      {"POOL", 0, {}}, {"READY", 1, {}}, {"HITS", 3, {}}, {"MISSES", 2, {}}};
  for (const PoolSum& pool : PoolByKind(status)) {
    columns[0].cells.push_back(Cell(pool.kind));
    columns[1].cells.push_back(absl::StrCat(pool.ready, "/", pool.target));
    columns[2].cells.push_back(absl::StrCat(pool.hits));
    columns[3].cells.push_back(absl::StrCat(pool.misses));
  }
  return Table(std::move(columns), width);
}

std::string StateOf(const v1::RunSummary& run) {
  if (run.state() == v1::RUN_STATE_FINISHED) return OutcomeName(run.outcome());
  return absl::AsciiStrToLower(
      absl::StripPrefix(v1::RunState_Name(run.state()), "RUN_STATE_"));
}

Lines RunSection(const std::string& title, const std::string& state_title,
                 const std::vector<const v1::RunSummary*>& runs, size_t width) {
  std::vector<Column> columns = {{title, 0, {}},     {state_title, 2, {}},
                                 {"ELAPSED", 1, {}}, {"LANGUAGE", 3, {}},
                                 {"CALLER", 4, {}},  {"PROFILE", 6, {}},
                                 {"SESSION", 5, {}}};
  for (const v1::RunSummary* run : runs) {
    columns[0].cells.push_back(Cell(run->run_id()));
    columns[1].cells.push_back(Cell(StateOf(*run)));
    columns[2].cells.push_back(FormatTimeSpan(FromProto(run->elapsed())));
    columns[3].cells.push_back(Cell(run->language()));
    columns[4].cells.push_back(Cell(run->caller()));
    columns[5].cells.push_back(Cell(run->profile()));
    columns[6].cells.push_back(Cell(run->session_id()));
  }
  return Table(std::move(columns), width);
}

// Running ones before waiting ones, those that have taken longest first.
Lines ActiveSection(const TopSnapshot& now, size_t width) {
  std::vector<const v1::RunSummary*> runs;
  for (const v1::RunSummary& run : now.active.runs()) runs.push_back(&run);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const v1::RunSummary* a, const v1::RunSummary* b) {
                     const bool waits_a = a->state() == v1::RUN_STATE_QUEUED;
                     const bool waits_b = b->state() == v1::RUN_STATE_QUEUED;
                     if (waits_a != waits_b) return waits_b;
                     return FromProto(a->elapsed()) > FromProto(b->elapsed());
                   });
  Lines lines = RunSection("RUN", "STATE", runs, width);
  if (runs.empty()) lines.push_back({FitTo("none goes on", width)});
  return lines;
}

Lines EndedSection(const TopSnapshot& now, size_t width) {
  if (now.ended.runs().empty()) return {};
  std::vector<const v1::RunSummary*> runs;
  for (const v1::RunSummary& run : now.ended.runs()) runs.push_back(&run);
  return RunSection("ENDED", "OUTCOME", runs, width);
}

std::string StateOf(const v1::Session& session) {
  return absl::AsciiStrToLower(absl::StripPrefix(
      v1::SessionState_Name(session.state()), "SESSION_STATE_"));
}

Lines SessionSection(const TopSnapshot& now, size_t width) {
  if (now.sessions.sessions().empty()) return {};
  std::vector<Column> columns = {{"SESSION", 0, {}},  {"STATE", 2, {}},
                                 {"MEMORY", 1, {}},   {"UNUSED FOR", 5, {}},
                                 {"LANGUAGE", 3, {}}, {"CALLER", 4, {}},
                                 {"PROFILE", 6, {}}};
  const absl::Time time = FromProto(now.status.time());
  for (const v1::Session& session : now.sessions.sessions()) {
    const absl::Duration unused = std::max(
        absl::ZeroDuration(), time - FromProto(session.last_used_time()));
    columns[0].cells.push_back(Cell(session.session_id()));
    columns[1].cells.push_back(Cell(StateOf(session)));
    columns[2].cells.push_back(FormatByteSize(session.memory_bytes()));
    columns[3].cells.push_back(FormatLongTime(unused));
    columns[4].cells.push_back(Cell(session.language()));
    columns[5].cells.push_back(Cell(session.caller()));
    columns[6].cells.push_back(Cell(session.profile()));
  }
  return Table(std::move(columns), width);
}

// Divides the rows: what one section doesn't need is left for the others.
// Sections at the front get what remains.
std::vector<size_t> Share(const std::vector<Lines>& sections, size_t rows) {
  std::vector<size_t> shares(sections.size(), 0);
  for (bool more = true; more && rows > 0;) {
    more = false;
    for (size_t i = 0; i < sections.size() && rows > 0; ++i) {
      if (shares[i] >= sections[i].size()) continue;
      ++shares[i];
      --rows;
      more = true;
    }
  }
  return shares;
}

// Appends the first `max` lines; if some are left out, the last line says how
// many.
void Append(const Lines& section, size_t max, size_t width, Lines& lines) {
  // A title alone is of no use.
  if (max < 2) return;
  const bool all = section.size() <= max;
  const size_t shown = all ? section.size() : max - 1;
  lines.insert(lines.end(), section.begin(),
               section.begin() + static_cast<ptrdiff_t>(shown));
  if (all) return;
  lines.push_back(
      {FitTo(absl::StrCat("and ", section.size() - shown, " more"), width)});
}

}  // namespace

std::vector<ScreenLine> TopLines(const TopSnapshot* before,
                                 const TopSnapshot& now,
                                 absl::string_view trouble, ScreenSize size) {
  const size_t width = size.columns == 0 ? kEndless : size.columns;
  const size_t rows = size.rows == 0 ? kEndless : size.rows;
  Lines lines = Header(before, now, trouble, width);
  const std::vector<Lines> sections = {
      PoolSection(now.status, width), ActiveSection(now, width),
      EndedSection(now, width), SessionSection(now, width)};
  size_t used = lines.size();
  // There is an empty line before each.
  for (const Lines& section : sections) used += section.empty() ? 0 : 1;
  const std::vector<size_t> shares =
      Share(sections, rows > used ? rows - used : 0);
  for (size_t i = 0; i < sections.size(); ++i) {
    if (shares[i] < 2) continue;
    lines.emplace_back();
    Append(sections[i], shares[i], width, lines);
  }
  if (lines.size() > rows) lines.resize(rows);
  return lines;
}

}  // namespace sandglass::client
