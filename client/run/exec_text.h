#ifndef SANDGLASS_CLIENT_RUN_EXEC_TEXT_H_
#define SANDGLASS_CLIENT_RUN_EXEC_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sandglass/v1/exec.pb.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// Converts a command's end to that of a run, for texts that serve both.
v1::RunCodeResponse AsRun(const v1::ExecEnd& end);

// The output of `session ps`: one line per command. Harmless for a terminal.
std::string ExecsText(const v1::ListExecsResponse& execs, absl::Time now);

// Reads "INT", "SIGINT" or "2"; from 1 to 64.
absl::StatusOr<int> ParseSignal(absl::string_view text);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_EXEC_TEXT_H_
