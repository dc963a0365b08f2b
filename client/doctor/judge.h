#ifndef SANDGLASS_CLIENT_DOCTOR_JUDGE_H_
#define SANDGLASS_CLIENT_DOCTOR_JUDGE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/doctor/attempts.h"
#include "sandglass/v1/run.pb.h"

// What answers mean. Nothing here talks to a daemon.
namespace sandglass::client {

enum class State {
  kInForce,
  kMissing,
  // It could not be tried, or what came back can't be trusted. Never a pass.
  kNotChecked,
};

// What came of one protection in one way of starting a program.
struct Judgement {
  std::string protection;
  State state = State::kNotChecked;
  std::string detail;  // empty when in force: what came back, or why nothing
};

// What the probe printed.
struct ProbeReply {
  std::map<std::string, std::string> answers;
  // Empty when the lines are whole: each one an answer, none twice, and as many
  // as the last one says.
  std::string problem;
};
ProbeReply ParseProbe(absl::string_view output);

// The reply to a run of the probe. Its problem also says when the run did not
// end well: an answer that is as it should be counts only without a problem,
// one that isn't counts always.
ProbeReply ReplyOf(const v1::RunCodeResponse& response);

// Takes these names out of the variables that the probe found.
void LeaveOut(const std::vector<std::string>& environment, ProbeReply& reply);

// One judgement for each protection that the attempts are about, in their
// order.
std::vector<Judgement> JudgeAnswers(absl::Span<const Attempt> attempts,
                                    const ProbeReply& reply);

// The same for all protections when the probe could not be asked.
std::vector<Judgement> NotChecked(absl::Span<const Attempt> attempts,
                                  absl::string_view why);

// The seven namespaces of two jails that were there at once, and those of this
// process on the same machine (empty: not known): no two may be the same.
Judgement JudgeNamespaces(const ProbeReply& one, const ProbeReply& other,
                          const std::map<std::string, std::string>& host);
// "namespace-user" and so on, with the numbers of this process.
std::map<std::string, std::string> HostNamespaces();

// A run that goes into a limit, and what must become of it.
struct LimitCheck {
  const char* protection;
  v1::Outcome outcome;
  v1::LimitKind limit;  // that the evidence must name
};

Judgement JudgeLimit(const LimitCheck& check,
                     const v1::RunCodeResponse& response);
// Of a run whose probe leaves a process behind and ends.
Judgement JudgeLeftovers(const v1::RunCodeResponse& response);
// Of a run that writes a file past `limit_bytes` and fetches it.
Judgement JudgeFileSize(const v1::RunCodeResponse& response,
                        uint64_t limit_bytes);
// Of any run that met a limit.
Judgement JudgeEvidence(const v1::RunCodeResponse& response);

// What the probe exits with when it was refused what it asked for.
inline constexpr int kProbeRefused = 9;

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_JUDGE_H_
