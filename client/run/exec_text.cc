#include "client/run/exec_text.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/base/exit_codes.h"
#include "client/base/text_table.h"
#include "client/base/units.h"

namespace sandglass::client {
namespace {

constexpr int kMaxSignal = 64;

// A text such as "running", "exited 3", "killed by SIGTERM", "TIMEOUT".
std::string StateText(const v1::ExecInfo& exec) {
  if (!exec.has_end()) return "running";
  const v1::ExecEnd& end = exec.end();
  switch (end.outcome()) {
    case v1::OUTCOME_OK:
    case v1::OUTCOME_NONZERO_EXIT:
      return absl::StrCat("exited ", end.exit_code());
    case v1::OUTCOME_SIGNALED:
      return absl::StrCat("killed by ",
                          end.signal().name().empty()
                              ? absl::StrCat(end.signal().number())
                              : end.signal().name());
    default:
      return OutcomeName(end.outcome());
  }
}

}  // namespace

v1::RunCodeResponse AsRun(const v1::ExecEnd& end) {
  v1::RunCodeResponse run;
  run.set_outcome(end.outcome());
  if (end.has_exit_code()) run.set_exit_code(end.exit_code());
  if (end.has_signal()) *run.mutable_signal() = end.signal();
  *run.mutable_evidence() = end.evidence();
  *run.mutable_usage() = end.usage();
  *run.mutable_hints() = end.hints();
  return run;
}

std::string ExecsText(const v1::ListExecsResponse& execs, absl::Time now) {
  std::vector<std::vector<std::string>> rows = {
      {"EXEC ID", "STATE", "PID", "AGE", "COMMAND"}};
  for (const v1::ExecInfo& exec : execs.execs()) {
    const absl::Duration age =
        std::max(now - FromProto(exec.start_time()), absl::ZeroDuration());
    rows.push_back({exec.exec_id(), StateText(exec),
                    exec.has_end() ? "-" : absl::StrCat(exec.pid()),
                    FormatLongTime(age), absl::StrJoin(exec.argv(), " ")});
  }
  return TextTable(rows, "");
}

absl::StatusOr<int> ParseSignal(absl::string_view text) {
  int number = 0;
  if (absl::SimpleAtoi(text, &number)) {
    if (number >= 1 && number <= kMaxSignal) return number;
  } else {
    const std::string upper = absl::AsciiStrToUpper(text);
    const absl::string_view name = absl::StripPrefix(upper, "SIG");
    for (number = 1; number <= kMaxSignal; ++number) {
      const char* known = sigabbrev_np(number);
      if (known != nullptr && name == known) return number;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "'", text, "' is no signal: write a name such as INT, or 1 to ",
      kMaxSignal));
}

}  // namespace sandglass::client
