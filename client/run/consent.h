#ifndef SANDGLASS_CLIENT_RUN_CONSENT_H_
#define SANDGLASS_CLIENT_RUN_CONSENT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/connection/daemon.h"
#include "client/terminal/interrupt_watcher.h"
#include "sandglass/v1/policy.pb.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// The answers of a person at the terminal about a run that needs an approval.
enum class Consent { kApprove, kEdit, kReject, kAlways };

// The answer that a line stands for, by its first letter in upper or lower
// case; nullopt for anything else. kAlways only if `in_session`.
std::optional<Consent> ConsentOf(absl::string_view line, bool in_session);

// Why the question is asked again after a line that stands for no answer.
std::string NoConsentWords(absl::string_view line);

// A program's text with line numbers, what the rules found in it, which files
// come with it, and its limits. Harmless for a terminal.
std::string ProgramText(const v1::Approval& approval);
// The contents of the files that come with it, and its input. Harmless for a
// terminal.
std::string InputTexts(const v1::Approval& approval);

// Lines of a verdict that say what the rules found, and how a run that waits
// for an approval can get it.
std::vector<std::string> FindingLines(const v1::RunCodeResponse& response);

// Asks on the terminal about a run whose answer was OUTCOME_NEEDS_APPROVAL and
// which the caller may approve itself. If the person approves, or changes the
// text, turns `request` into the run to try next and returns nullopt; otherwise
// returns the exit code. Reads from the process's terminal, whatever its
// standard input is; Ctrl-C and the end of input reject.
std::optional<int> AskForConsent(const Daemon& daemon,
                                 const v1::RunCodeResponse& response,
                                 v1::RunCodeRequest& request,
                                 InterruptWatcher& interrupts);

// Whether there is a person who can be asked.
bool CanAsk();

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_CONSENT_H_
