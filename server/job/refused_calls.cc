#include "server/job/refused_calls.h"

#include <string.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "policy/architecture/architecture.h"
#include "policy/seccomp/syscall_names.h"
#include "server/base/log.h"

namespace sandglass::server {
namespace {

constexpr size_t kMaxShown = 32;
// The bound for different calls of one language and profile.
constexpr size_t kMaxTotals = 1024;
// The most bytes that the log shows of a text.
constexpr size_t kFieldBytes = 1000;

std::string ArgumentText(uint64_t argument) {
  if (argument == sandbox::kAddressArgument) return "...";
  if (argument > sandbox::kAddressArgument) {
    return absl::StrCat(static_cast<int64_t>(argument));
  }
  return argument < 10 ? absl::StrCat(argument)
                       : absl::StrFormat("%#x", argument);
}

std::string ErrorName(int error) {
  const char* name = ::strerrorname_np(error);
  return name == nullptr ? absl::StrCat("errno-", error) : std::string(name);
}

std::string WithCount(const std::string& call, uint64_t count) {
  return absl::StrCat(call, " x", count);
}

// The log cuts long texts, so what doesn't fit into the first field goes into
// the next.
std::vector<std::string> InFields(const std::vector<std::string>& parts,
                                  size_t fields) {
  std::vector<std::string> texts(1);
  for (const std::string& part : parts) {
    if (texts.back().size() + part.size() + 2 > kFieldBytes &&
        texts.size() < fields) {
      texts.emplace_back();
    }
    absl::StrAppend(&texts.back(), texts.back().empty() ? "" : "; ", part);
  }
  texts.resize(fields);
  return texts;
}

std::vector<std::string> Parts(const sandbox::RefusedCalls& calls) {
  std::vector<std::string> parts;
  for (const sandbox::RefusedCall& call : calls.calls) {
    if (parts.size() == kMaxShown) break;
    parts.push_back(WithCount(DescribeCall(call), call.count));
  }
  const size_t left = calls.calls.size() - parts.size();
  if (left > 0 || calls.others > 0) {
    parts.push_back(
        absl::StrCat(left, " more kinds and ", calls.others, " more calls"));
  }
  if (parts.empty()) parts.emplace_back("none");
  return parts;
}

}  // namespace

std::string DescribeCall(const sandbox::RefusedCall& call) {
  std::vector<std::string> arguments;
  for (const uint64_t argument : call.arguments) {
    arguments.push_back(ArgumentText(argument));
  }
  return absl::StrCat(policy::SyscallName(call.architecture, call.number), "(",
                      absl::StrJoin(arguments, ", "),
                      ")=", ErrorName(call.error));
}

std::string DescribeCalls(const sandbox::RefusedCalls& calls) {
  return absl::StrJoin(Parts(calls), "; ");
}

absl::Status CheckTraceable(
    const std::vector<sandbox::JailTemplate>& templates) {
  struct Needed {
    const char* name;
    int number;
    uint64_t third_argument;
  };
  constexpr Needed kNeeded[] = {
      {"sendmsg", SYS_sendmsg, 0x4000 /* MSG_NOSIGNAL */},
      {"execve", SYS_execve, 0}};
  for (const sandbox::JailTemplate& each : templates) {
    for (const Needed& needed : kNeeded) {
      if (policy::Allows(each.seccomp, needed.number, needed.third_argument)) {
        continue;
      }
      // Shows the template's name without the digest.
      return absl::FailedPreconditionError(absl::StrCat(
          "--trace-syscalls: the system call policy of profile ",
          each.name.substr(0, each.name.find('@')), " refuses ", needed.name,
          ", which tracing takes before a program starts; allow it, or start "
          "without the flag"));
    }
  }
  return absl::OkStatus();
}

void RefusedCallLog::Record(const Source& source,
                            const sandbox::RefusedCalls& calls) {
  const std::vector<std::string> texts = InFields(Parts(calls), 3);
  Log(LogLevel::kInfo, "syscalls_denied",
      {{"run_id", source.run_id},
       {"lang", source.language},
       {"profile", source.profile},
       {"calls", texts[0]},
       {"calls_then", texts[1]},
       {"calls_last", texts[2]}});
  if (tell_) tell_(source, calls);
  absl::MutexLock lock(&mutex_);
  Total& total = totals_[{source.language, source.profile}];
  ++total.runs;
  total.others += calls.others;
  for (const sandbox::RefusedCall& call : calls.calls) {
    const std::string text = DescribeCall(call);
    if (total.counts.contains(text) || total.counts.size() < kMaxTotals) {
      total.counts[text] += call.count;
    } else {
      total.others += call.count;
    }
  }
}

void RefusedCallLog::LogSummary() const {
  absl::MutexLock lock(&mutex_);
  for (const auto& [source, total] : totals_) {
    // The most frequent first.
    std::vector<std::pair<std::string, uint64_t>> sorted(total.counts.begin(),
                                                         total.counts.end());
    std::ranges::stable_sort(sorted, std::greater<>(),
                             [](const auto& each) { return each.second; });
    std::vector<std::string> parts;
    uint64_t left = total.others;
    for (const auto& [call, count] : sorted) {
      if (parts.size() < kMaxShown) {
        parts.push_back(WithCount(call, count));
      } else {
        left += count;
      }
    }
    if (parts.empty()) parts.emplace_back("none");
    const std::vector<std::string> texts = InFields(parts, 3);
    Log(LogLevel::kInfo, "syscalls_denied_in_all",
        {{"lang", source.first},
         {"profile", source.second},
         {"runs", total.runs},
         {"calls", texts[0]},
         {"calls_then", texts[1]},
         {"calls_last", texts[2]},
         {"more_calls", left}});
  }
}

}  // namespace sandglass::server
