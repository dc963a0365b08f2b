#ifndef SANDGLASS_CLIENT_DOCTOR_JUDGE_H_
#define SANDGLASS_CLIENT_DOCTOR_JUDGE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/doctor/attempts.h"
#include "sandglass/v1/run.pb.h"

// Interprets answers. Nothing here talks to a daemon.
namespace sandglass::client {

enum class State {
  kInForce,
  kMissing,
  // It could not be tried, or the answer can't be trusted. Never counts as a
  // pass.
  kNotChecked,
};

// The result for one protection and one way of starting a program.
struct Judgement {
  std::string protection;
  State state = State::kNotChecked;
  std::string detail;  // empty when in force: the answer, or why there is none
};

// The output of the probe.
struct ProbeReply {
  std::map<std::string, std::string> answers;
  // Empty when the output is complete: each line is an answer, none occurs
  // twice, and their number is that in the last line.
  std::string problem;
};
ProbeReply ParseProbe(absl::string_view output);

// The reply to a run of the probe. `problem` also says when the run did not end
// well. An expected answer only counts if there is no problem; an unexpected
// one always counts.
ProbeReply ReplyOf(const v1::RunCodeResponse& response);

// Removes these names from the variables that the probe has found.
void LeaveOut(const std::vector<std::string>& environment, ProbeReply& reply);

// One judgement for each protection that the attempts are about, in their
// order.
std::vector<Judgement> JudgeAnswers(absl::Span<const Attempt> attempts,
                                    const ProbeReply& reply);

// The same, for when the probe could not be run.
std::vector<Judgement> NotChecked(absl::Span<const Attempt> attempts,
                                  absl::string_view why);

// Compares the seven namespaces of two jails that existed at the same time, and
// those of this process on the same machine (empty: not known): no two may be
// the same.
Judgement JudgeNamespaces(const ProbeReply& one, const ProbeReply& other,
                          const std::map<std::string, std::string>& host);
// "namespace-user" and so on, with the numbers for this process.
std::map<std::string, std::string> HostNamespaces();

// A run that goes into a limit, and how it must end.
struct LimitCheck {
  const char* protection;
  v1::Outcome outcome;
  v1::LimitKind limit;  // which the evidence must name
};

Judgement JudgeLimit(const LimitCheck& check,
                     const v1::RunCodeResponse& response);
// For a run whose probe leaves a process behind and ends.
Judgement JudgeLeftovers(const v1::RunCodeResponse& response);
// For a run that writes a file beyond `limit_bytes` and fetches it.
Judgement JudgeFileSize(const v1::RunCodeResponse& response,
                        uint64_t limit_bytes);
// For any run that reached a limit.
Judgement JudgeEvidence(const v1::RunCodeResponse& response);

// The probe's exit code when it was refused what it asked for.
inline constexpr int kProbeRefused = 9;

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_JUDGE_H_
