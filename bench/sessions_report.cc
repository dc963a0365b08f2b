#include "bench/sessions_report.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sandglass::bench {

const Summary* FindStep(const SessionsReport& sessions, const char* name) {
  for (const auto& [step, summary] : sessions.times) {
    if (step == name) return &summary;
  }
  return nullptr;
}

std::string SessionsText(const SessionsReport& sessions) {
  std::vector<Cells> lines = {
      {"session with a Python kernel", "n", "p50 ms", "p99 ms", "x warm run"}};
  const Summary* warm = FindStep(sessions, kWarmRun);
  for (const auto& [name, summary] : sessions.times) {
    lines.push_back(
        {name, absl::StrCat(summary.n), Ms(summary.p50), Ms(summary.p99),
         warm != nullptr && warm->p50 > absl::ZeroDuration()
             ? absl::StrFormat("%.2f",
                               absl::FDivDuration(summary.p50, warm->p50))
             : "-"});
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
  nlohmann::ordered_json json = {{"steps", nlohmann::ordered_json::object()}};
  for (const auto& [name, summary] : sessions.times) {
    json["steps"][name] = SummaryJson(summary);
  }
  if (sessions.idle > 0) {
    json["idle_sessions"] = sessions.idle;
    json["idle_session_bytes"] = sessions.idle_bytes;
  }
  if (!sessions.problem.empty()) json["problem"] = sessions.problem;
  return json;
}

}  // namespace sandglass::bench
