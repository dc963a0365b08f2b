#ifndef SANDGLASS_CLIENT_BASE_EXIT_CODES_H_
#define SANDGLASS_CLIENT_BASE_EXIT_CODES_H_

#include <string>

#include "absl/types/span.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// Exit codes of the client itself.
constexpr int kExitOk = 0;
// A gRPC error, a usage error, or a file that could not be read or written: the
// code doesn't come from the program.
constexpr int kExitError = 125;
// For doctor: a protection is missing.
constexpr int kExitProtectionMissing = 1;
// For doctor: none is missing as far as could be seen, but not everything could
// be checked. If nothing could be asked at all, it is kExitError.
constexpr int kExitNotChecked = 2;
// For status: the daemon isn't ready.
constexpr int kExitNotReady = 1;
// For audit, and for usage from an audit log: the log isn't as it was written.
constexpr int kExitTampered = 1;
// For audit: a usage error, or a log that can't be read.
constexpr int kExitAuditError = 2;
// The reader of our standard output has gone away (128 + SIGPIPE).
constexpr int kExitBrokenPipe = 141;
// The program of a command in a session can't be executed, or doesn't exist:
// the same codes as in shells.
constexpr int kExitNotExecutable = 126;
constexpr int kExitNotFound = 127;
// The run waits for a person's approval. Higher than the codes for all signals
// that end programs.
constexpr int kExitNeedsApproval = 160;
// A rule of the profile, or the person who was asked, has refused the run.
constexpr int kExitDenied = 161;
// The number of the signal that ended a program or this client is added to
// this.
constexpr int kExitSignalBase = 128;

// An outcome and the exit code for it.
struct OutcomeExit {
  v1::Outcome outcome;
  int code;  // -1: the program's own code; -2: kExitSignalBase + its signal
};
constexpr int kExitProgramCode = -1;
constexpr int kExitProgramSignal = -2;

// All outcomes, in the order of docs/verdicts.md.
absl::Span<const OutcomeExit> OutcomeExits();

// The exit code of `sandglass run` for this answer. kExitError for an outcome
// that this client doesn't know, or one that lacks its exit code or signal.
int ExitCodeFor(const v1::RunCodeResponse& response);

// For example "MEMORY_LIMIT"; "OUTCOME_99" for one that this client doesn't
// know.
std::string OutcomeName(v1::Outcome outcome);

// The table of run's exit codes for --help, one code per line, and that of all
// commands.
std::string RunExitCodeHelp();
std::string ExitCodeHelp();
// The same for status, doctor and audit.
std::string StatusExitCodeHelp();
std::string DoctorExitCodeHelp();
std::string AuditExitCodeHelp();

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_EXIT_CODES_H_
