#include "client/doctor/judge.h"

#include <sys/stat.h>

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/base/exit_codes.h"

namespace sandglass::client {
namespace {

constexpr const char* kNamespaces[] = {"user", "pid", "mnt",   "net",
                                       "ipc",  "uts", "cgroup"};

std::string OutcomeText(const v1::RunCodeResponse& response) {
  std::string text = OutcomeName(response.outcome());
  if (response.has_exit_code()) {
    absl::StrAppend(&text, " with exit code ", response.exit_code());
  }
  return text;
}

// True for outcomes that say nothing about a limit.
bool IsNoAnswer(const v1::RunCodeResponse& response) {
  switch (response.outcome()) {
    case v1::OUTCOME_OK:
      return false;
    case v1::OUTCOME_NONZERO_EXIT:
      // Other codes mean that the probe could not do its part.
      return response.exit_code() != kProbeRefused;
    default:
      return true;
  }
}

void Add(Judgement& judgement, State state, const std::string& detail) {
  // A missing protection is final; if several attempts show one, all are
  // listed.
  if (judgement.state == State::kMissing && state != State::kMissing) return;
  if (state == State::kMissing && judgement.state != State::kMissing) {
    judgement.detail.clear();
  }
  judgement.state = state;
  absl::StrAppend(&judgement.detail, judgement.detail.empty() ? "" : ", ",
                  detail);
}

Judgement& For(std::vector<Judgement>& judgements, const char* protection) {
  for (Judgement& each : judgements) {
    if (each.protection == protection) return each;
  }
  judgements.push_back({protection, State::kInForce, ""});
  return judgements.back();
}

}  // namespace

ProbeReply ParseProbe(absl::string_view output) {
  ProbeReply reply;
  int count = 0;
  bool done = false;
  for (const absl::string_view line : absl::StrSplit(output, '\n')) {
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (equals == absl::string_view::npos || equals == 0 || done) {
      reply.problem = "the probe's answers are garbled";
      continue;
    }
    const std::string name(line.substr(0, equals));
    const std::string answer(line.substr(equals + 1));
    if (name == "done") {
      done = true;
      if (answer != absl::StrCat(count)) {
        reply.problem = "some of the probe's answers are missing";
      }
      continue;
    }
    ++count;
    const auto [place, is_new] = reply.answers.emplace(name, answer);
    if (!is_new) {
      reply.problem = "the probe's answers are garbled";
      absl::StrAppend(&place->second, " and ", answer);
    }
  }
  if (!done && reply.problem.empty()) {
    reply.problem = "the probe did not get to its end";
  }
  return reply;
}

ProbeReply ReplyOf(const v1::RunCodeResponse& response) {
  ProbeReply reply = ParseProbe(response.stdout().data());
  if (response.stdout().truncated()) {
    reply.problem = "the probe's answers were cut";
  }
  if (response.outcome() != v1::OUTCOME_OK) {
    reply.problem =
        absl::StrCat("the probe's run ended as ", OutcomeText(response));
  }
  return reply;
}

void LeaveOut(const std::vector<std::string>& environment, ProbeReply& reply) {
  const auto found = reply.answers.find("host-environment");
  if (found == reply.answers.end() || environment.empty()) return;
  std::vector<std::string> names = absl::StrSplit(found->second, ',');
  std::erase_if(names, [&](const std::string& name) {
    return std::find(environment.begin(), environment.end(), name) !=
           environment.end();
  });
  found->second = names.empty() ? "none" : absl::StrJoin(names, ",");
}

std::vector<Judgement> JudgeAnswers(absl::Span<const Attempt> attempts,
                                    const ProbeReply& reply) {
  std::vector<Judgement> judgements;
  // A program may write to its own directory. A probe that can't do that is in
  // no state to tell what is refused.
  std::string problem = reply.problem;
  const auto work = reply.answers.find("write-workspace");
  if (work != reply.answers.end() && work->second != "OK" && problem.empty()) {
    problem = "the probe can't even write into /workspace";
  }
  for (const Attempt& attempt : attempts) {
    if (attempt.protection == absl::string_view(kWork)) continue;
    Judgement& judgement = For(judgements, attempt.protection);
    const auto answer = reply.answers.find(attempt.name);
    if (answer == reply.answers.end()) {
      Add(judgement, State::kNotChecked,
          absl::StrCat("no answer to ", attempt.name,
                       problem.empty() ? "" : ": ", problem));
    } else if (!IsExpected(attempt, answer->second)) {
      Add(judgement, State::kMissing,
          absl::StrCat(attempt.name, "=", answer->second, " instead of ",
                       attempt.expected));
    } else if (!problem.empty() && judgement.state == State::kInForce) {
      Add(judgement, State::kNotChecked, problem);
    }
  }
  return judgements;
}

std::vector<Judgement> NotChecked(absl::Span<const Attempt> attempts,
                                  absl::string_view why) {
  std::vector<Judgement> judgements;
  for (const Attempt& attempt : attempts) {
    if (attempt.protection == absl::string_view(kWork)) continue;
    Judgement& judgement = For(judgements, attempt.protection);
    judgement.state = State::kNotChecked;
    judgement.detail = std::string(why);
  }
  return judgements;
}

std::map<std::string, std::string> HostNamespaces() {
  std::map<std::string, std::string> numbers;
  for (const char* name : kNamespaces) {
    struct stat info = {};
    if (stat(absl::StrCat("/proc/self/ns/", name).c_str(), &info) == 0) {
      numbers[absl::StrCat("namespace-", name)] = absl::StrCat(info.st_ino);
    }
  }
  return numbers;
}

Judgement JudgeNamespaces(const ProbeReply& one, const ProbeReply& other,
                          const std::map<std::string, std::string>& host) {
  Judgement judgement = {"own-namespaces", State::kInForce, ""};
  const std::string problem = one.problem.empty() ? other.problem : one.problem;
  for (const char* name : kNamespaces) {
    const std::string key = absl::StrCat("namespace-", name);
    const auto number = [&](const std::map<std::string, std::string>& answers) {
      uint64_t value = 0;
      const auto found = answers.find(key);
      if (found == answers.end() || !absl::SimpleAtoi(found->second, &value)) {
        value = 0;
      }
      return value;
    };
    const uint64_t first = number(one.answers);
    const uint64_t second = number(other.answers);
    if (first == 0 || second == 0) {
      Add(judgement, State::kNotChecked,
          absl::StrCat("no number of the ", name, " namespace",
                       problem.empty() ? "" : ": ", problem));
    } else if (first == second) {
      Add(judgement, State::kMissing,
          absl::StrCat("two runs have the same ", name, " namespace"));
    } else if (number(host) == first || number(host) == second) {
      Add(judgement, State::kMissing,
          absl::StrCat("a run has the host's ", name, " namespace"));
    }
  }
  if (!problem.empty() && judgement.state == State::kInForce) {
    Add(judgement, State::kNotChecked, problem);
  }
  return judgement;
}

Judgement JudgeLimit(const LimitCheck& check,
                     const v1::RunCodeResponse& response) {
  Judgement judgement = {check.protection, State::kInForce, ""};
  if (response.outcome() == check.outcome) {
    if (response.evidence().limit().kind() != check.limit) {
      judgement.state = State::kNotChecked;
      judgement.detail =
          absl::StrCat(OutcomeName(check.outcome),
                       ", but the evidence doesn't name the limit");
    }
    return judgement;
  }
  judgement.state = IsNoAnswer(response) ? State::kNotChecked : State::kMissing;
  judgement.detail = absl::StrCat("the run ended as ", OutcomeText(response),
                                  " instead of ", OutcomeName(check.outcome));
  return judgement;
}

Judgement JudgeLeftovers(const v1::RunCodeResponse& response) {
  Judgement judgement = {"leftovers-killed", State::kInForce, ""};
  if (response.outcome() != v1::OUTCOME_OK) {
    judgement.state = State::kNotChecked;
    judgement.detail = absl::StrCat("the run ended as ", OutcomeText(response));
  } else if (response.evidence().leftover_processes() == 0) {
    judgement.state = State::kMissing;
    judgement.detail = "the daemon found no process left, and there was one";
  }
  return judgement;
}

Judgement JudgeFileSize(const v1::RunCodeResponse& response,
                        uint64_t limit_bytes) {
  Judgement judgement = {"file-size-limit", State::kInForce, ""};
  if (response.files_size() != 1 ||
      response.files(0).error() != v1::FILE_ERROR_UNSPECIFIED) {
    judgement.state = State::kNotChecked;
    judgement.detail = absl::StrCat(
        "the file did not come back; the run ended "
        "as ",
        OutcomeText(response));
    return judgement;
  }
  const uint64_t size = response.files(0).size();
  const bool refused = response.outcome() == v1::OUTCOME_NONZERO_EXIT &&
                       response.exit_code() == kProbeRefused;
  if (refused && size == limit_bytes) return judgement;
  judgement.state = size > limit_bytes ? State::kMissing : State::kNotChecked;
  judgement.detail =
      absl::StrCat("the file has ", size, " bytes, the limit is ", limit_bytes,
                   ", and the run ended as ", OutcomeText(response));
  return judgement;
}

Judgement JudgeEvidence(const v1::RunCodeResponse& response) {
  Judgement judgement = {"evidence", State::kInForce, ""};
  const v1::Evidence& evidence = response.evidence();
  const auto lacks = [&](absl::string_view what) {
    Add(judgement, State::kMissing,
        absl::StrCat(OutcomeName(response.outcome()), " without ", what));
  };
  if (evidence.rule().empty()) lacks("the rule that decided");
  if (evidence.explanation().empty()) lacks("an explanation");
  if (!evidence.has_counters()) lacks("the kernel's counters");
  if (evidence.limit().configured() == 0) lacks("the limit");
  if (evidence.killed_by() == v1::KILLER_UNSPECIFIED) lacks("who ended it");
  return judgement;
}

}  // namespace sandglass::client
