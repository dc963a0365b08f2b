#include "bench/sessions_report.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace sandglass::bench {

const SessionStep* FindStep(const SessionsReport& sessions,
                            const std::string& name) {
  for (const SessionStep& step : sessions.steps) {
    if (step.name == name && step.contender == kSandglassSession) return &step;
  }
  return nullptr;
}

std::string SessionsText(const SessionsReport& sessions) {
  std::vector<Cells> lines = {{"session with a Python kernel", "contender", "n",
                               "p50 ms", "p99 ms", "CPU ms", "x sandglass"}};
  for (const SessionStep& step : sessions.steps) {
    const SessionStep* ours = FindStep(sessions, step.name);
    std::optional<double> ratio;
    if (ours != nullptr && ours->time.p50 > absl::ZeroDuration()) {
      ratio = absl::FDivDuration(step.time.p50, ours->time.p50);
    }
    lines.push_back(
        {step.name, step.contender, absl::StrCat(step.time.n),
         Ms(step.time.p50),
         HasTail(step.time) ? Ms(step.time.p99)
                            : absl::StrCat("(", Ms(step.time.max), ")"),
         step.cpu.has_value() ? Ms(*step.cpu) : "-", RatioText(ratio)});
  }
  std::string text = absl::StrCat("\n", Table(lines));
  if (sessions.idle > 0) {
    absl::StrAppend(
        &text, absl::StrFormat("\nan idle session holds %.2f MiB (the "
                               "mean of %d)\n",
                               sessions.idle_bytes / (1 << 20), sessions.idle));
  }
  if (!sessions.problem.empty()) {
    absl::StrAppend(&text, "\nno figures: ", sessions.problem, "\n");
  }
  return text;
}

nlohmann::ordered_json SessionsJson(const SessionsReport& sessions) {
  nlohmann::ordered_json json = {{"steps", nlohmann::ordered_json::array()}};
  for (const SessionStep& step : sessions.steps) {
    nlohmann::ordered_json row = {{"step", step.name},
                                  {"contender", step.contender}};
    row.update(SummaryJson(step.time));
    row["cpu_ms"] = step.cpu.has_value()
                        ? nlohmann::ordered_json(Rounded(*step.cpu))
                        : nullptr;
    json["steps"].push_back(std::move(row));
  }
  if (sessions.idle > 0) {
    json["idle_sessions"] = sessions.idle;
    json["idle_session_bytes"] = sessions.idle_bytes;
  }
  if (!sessions.problem.empty()) json["problem"] = sessions.problem;
  return json;
}

}  // namespace sandglass::bench
