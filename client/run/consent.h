#ifndef SANDGLASS_CLIENT_RUN_CONSENT_H_
#define SANDGLASS_CLIENT_RUN_CONSENT_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/connection/daemon.h"
#include "client/terminal/interrupt_watcher.h"
#include "sandglass/v1/policy.pb.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// What a person on the terminal says to a run that needs an approval.
enum class Consent { kApprove, kEdit, kReject, kAlways };

// The answer that a line means: its first letter, in any case; nullopt for
// anything else. kAlways only where `in_session`.
std::optional<Consent> ConsentOf(absl::string_view line, bool in_session);

// A program's text with its lines numbered, what the rules found in it, what
// comes with it, and its limits, made harmless for a terminal.
std::string ProgramText(const v1::Approval& approval);
// What the files that come with it, and its input, hold, likewise.
std::string InputTexts(const v1::Approval& approval);

// Lines of a verdict that tell what the rules found, and how a run that waits
// for an approval gets it.
std::vector<std::string> FindingLines(const v1::RunCodeResponse& response);

// Asks on the terminal about a run whose answer was OUTCOME_NEEDS_APPROVAL and
// whose caller may approve it itself. With an approval, or another text, makes
// `request` the run to try next and returns nullopt; else what to exit with.
// Reads from the process's terminal, whatever its standard input is; Ctrl-C
// and the end of input reject.
std::optional<int> AskForConsent(const Daemon& daemon,
                                 const v1::RunCodeResponse& response,
                                 v1::RunCodeRequest& request,
                                 InterruptWatcher& interrupts);

// Whether somebody is there to be asked.
bool CanAsk();

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_CONSENT_H_
