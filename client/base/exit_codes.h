#ifndef SANDGLASS_CLIENT_BASE_EXIT_CODES_H_
#define SANDGLASS_CLIENT_BASE_EXIT_CODES_H_

#include <string>

#include "absl/types/span.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// Exit codes of the client itself.
constexpr int kExitOk = 0;
// A gRPC error, a usage error, or a file that could not be read or written:
// the answer is not the program's.
constexpr int kExitError = 125;
// Of doctor: a protection is missing.
constexpr int kExitProtectionMissing = 1;
// Of doctor: none is missing as far as could be seen, but not all could be
// checked. Where nothing could be asked at all it is kExitError.
constexpr int kExitNotChecked = 2;
// Of status: the daemon is not ready.
constexpr int kExitNotReady = 1;
// Of audit, and of usage from an audit log: that is not as it was written.
constexpr int kExitTampered = 1;
// Of audit: a usage error, or a log that can't be read.
constexpr int kExitAuditError = 2;
// Whoever read our standard output went away (128 + SIGPIPE).
constexpr int kExitBrokenPipe = 141;
// The program of a command in a session can't be run, or isn't there: as shells
// have it.
constexpr int kExitNotExecutable = 126;
constexpr int kExitNotFound = 127;
// The run waits for a person's approval. Above all signals that end programs.
constexpr int kExitNeedsApproval = 160;
// A rule of the profile, or the person asked, was against it.
constexpr int kExitDenied = 161;
// Added to the signal that ended a program or this client.
constexpr int kExitSignalBase = 128;

// One outcome with the exit code that stands for it.
struct OutcomeExit {
  v1::Outcome outcome;
  int code;  // -1: the program's own code; -2: kExitSignalBase + its signal
};
constexpr int kExitProgramCode = -1;
constexpr int kExitProgramSignal = -2;

// All outcomes, in the order of docs/verdicts.md.
absl::Span<const OutcomeExit> OutcomeExits();

// What `sandglass run` exits with for this answer. kExitError for an outcome
// that this client does not know, or one without its exit code or signal.
int ExitCodeFor(const v1::RunCodeResponse& response);

// "MEMORY_LIMIT"; "OUTCOME_99" for one that this client does not know.
std::string OutcomeName(v1::Outcome outcome);

// The table as --help shows it, a line per code.
std::string ExitCodeHelp();
// The same of status, doctor and audit.
std::string StatusExitCodeHelp();
std::string DoctorExitCodeHelp();
std::string AuditExitCodeHelp();

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_BASE_EXIT_CODES_H_
