#include "server/isolation_canary.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/make_job.h"
#include "server/run.h"
#include "server/text.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kLeastTime = absl::Seconds(20);
constexpr uint64_t kLeastOutput = 64 * 1024;
constexpr size_t kMaxQuotedBytes = 300;
// Init, the file agent at most, the shell and what it starts.
constexpr size_t kMostProcesses = 8;

using Facts = std::map<std::string, std::vector<std::string>>;

bool IsZero(const std::string& hex) {
  return !hex.empty() && hex.find_first_not_of('0') == std::string::npos;
}

// Every word is a number, all the same and not root's.
bool IsOneOrdinaryId(const std::string& ids) {
  const std::vector<std::string> words =
      absl::StrSplit(ids, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  return words.size() == 4 && words[0] != "0" &&
         std::all_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word == words[0]; });
}

// The one value of a key; empty: there is none or there are several.
std::string Only(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() || found->second.size() != 1
             ? ""
             : found->second.front();
}

Job MakeIsolationJob(const policy::Profile& profile) {
  Job job;
  job.run_id = NewRunId();
  job.template_name = profile.jail_template;
  job.limits = profile.limits;
  job.limits.wall_time = std::max(job.limits.wall_time, kLeastTime);
  job.limits.cpu_time = std::max(job.limits.cpu_time, kLeastTime);
  job.limits.output_bytes = std::max(job.limits.output_bytes, kLeastOutput);
  job.limits.output_total_bytes =
      std::max(job.limits.output_total_bytes, kLeastOutput);
  job.argv = {"/bin/sh", "-c", kIsolationScript};
  job.env = BaseEnvironment();
  return job;
}

absl::Status TryOnce(const policy::Profile& profile, const RunFunction& run,
                     CancelToken& cancel) {
  const absl::StatusOr<JobResult> result =
      run(MakeIsolationJob(profile), cancel, nullptr);
  if (cancel.reason().has_value()) return absl::CancelledError("shutting down");
  if (!result.ok()) {
    // Only what came out of a jail says anything of it.
    return absl::UnavailableError(result.status().message());
  }
  absl::Status judged = JudgeIsolation(result->stdout_result.data);
  if (!absl::IsUnknown(judged)) return judged;
  return absl::UnknownError(
      absl::StrCat(judged.message(), ": ",
                   AbslView(policy::OutcomeName(result->verdict.outcome)), " (",
                   result->verdict.explanation, "), stderr ",
                   Quote(result->stderr_result.data, kMaxQuotedBytes)));
}

}  // namespace

// Nothing of it is printed where all is well, but the facts and "end". The
// shell's own errors go nowhere: they are the good case. Not ":" but "true": a
// redirection that fails ends the shell when it is a special built-in's (POSIX,
// "Consequences of Shell Errors").
const char kIsolationScript[] = R"sh(
exec 2>/dev/null
while read -r key value; do
  case $key in
    NoNewPrivs:|Seccomp:|Cap*:|Uid:|Gid:|Groups:) echo "$key $value" ;;
  esac
done </proc/self/status
while read -r name rest; do
  case $name in *:) echo "net: ${name%:}" ;; esac
done </proc/net/dev
for directory in /proc/[0-9]*; do echo "process: ${directory#/proc/}"; done
for file in /etc/shadow /etc/sudoers /proc/kcore /dev/mem /dev/kmsg \
    /proc/1/environ /proc/sys/kernel/core_pattern.x \
    /run/systemd/private /var/run/docker.sock; do
  if true <"$file"; then echo "reads: $file"; fi
done
for file in /usr/x /usr/bin/x /etc/x /x /sys/x /sys/fs/cgroup/x /proc/sysrq-trigger \
    /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/1/oom_score_adj \
    /opt/x /var/x; do
  if true >>"$file"; then echo "writes: $file"; fi
done
if mount -t tmpfs none /tmp; then echo "does: mount"; fi
if unshare --user --map-root-user true; then echo "does: unshare a user namespace"; fi
if unshare --net true; then echo "does: unshare a network namespace"; fi
if kill -0 1; then echo "does: signal init"; fi
if chroot / true; then echo "does: chroot"; fi
if nsenter --target 1 --mount true; then echo "does: nsenter"; fi
echo "end: of the script"
)sh";

absl::Status JudgeIsolation(std::string_view output) {
  Facts facts;
  for (const absl::string_view line :
       absl::StrSplit(AbslView(output), '\n', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> fact =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    facts[fact.first].emplace_back(
        absl::StripLeadingAsciiWhitespace(fact.second));
  }
  if (facts.find("end") == facts.end()) {
    return absl::UnknownError("the script that tries the jail didn't end");
  }
  std::vector<std::string> wrong;
  const auto must = [&](bool good, const std::string& what) {
    if (!good) wrong.push_back(what);
  };
  const auto is = [&](const std::string& key, const std::string& value) {
    must(Only(facts, key) == value, absl::StrCat(key, " is '", Only(facts, key),
                                                 "' and not '", value, "'"));
  };
  is("NoNewPrivs", "1");
  is("Seccomp", "2");
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    must(IsZero(Only(facts, set)),
         absl::StrCat("it has capabilities: ", set, " ", Only(facts, set)));
  }
  for (const char* ids : {"Uid", "Gid"}) {
    must(IsOneOrdinaryId(Only(facts, ids)),
         absl::StrCat("its ids are ", ids, " ", Only(facts, ids)));
  }
  is("net", "lo");
  must(facts["process"].size() <= kMostProcesses,
       absl::StrCat("it sees ", facts["process"].size(), " processes"));
  for (const char* deed : {"reads", "writes", "does"}) {
    for (const std::string& what : facts[deed]) {
      must(false, absl::StrCat("it ", deed, " ", what));
    }
  }
  if (wrong.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrJoin(wrong, "; "));
}

absl::Status CheckIsolation(const PolicySet& policy, const RunFunction& run,
                            CancelToken& cancel) {
  absl::Status not_tried = absl::UnavailableError("there is no profile");
  bool any_held = false;
  for (const policy::SharedProfile& profile : policy.profiles()) {
    absl::Status held = TryOnce(*profile, run, cancel);
    // Once more: nothing is said of jails by a run that went wrong.
    if (!held.ok() && !absl::IsCancelled(held)) {
      held = TryOnce(*profile, run, cancel);
    }
    if (held.ok()) {
      any_held = true;
      continue;
    }
    not_tried = absl::Status(
        held.code(), absl::StrCat("in a jail of profile ", profile->name, ": ",
                                  held.message()));
    if (absl::IsFailedPrecondition(held) || absl::IsCancelled(held)) {
      return not_tried;
    }
  }
  return any_held ? absl::OkStatus() : not_tried;
}

}  // namespace sandglass::server
