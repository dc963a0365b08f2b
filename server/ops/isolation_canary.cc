#include "server/ops/isolation_canary.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "policy/profile/profile.h"
#include "sandbox/yard/sandbox.h"
#include "sandglass/v1/run.pb.h"
#include "server/base/strings.h"
#include "server/job/job_builder.h"
#include "server/job/run_id.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kTime = absl::Seconds(20);
constexpr uint64_t kMinOutput = 64 * 1024;
constexpr size_t kMaxQuotedBytes = 300;
// Init, possibly the file agent, the shell and what it starts.
constexpr size_t kMaxProcesses = 8;

using Facts = std::map<std::string, std::vector<std::string>>;

bool IsZero(const std::string& hex) {
  return !hex.empty() && hex.find_first_not_of('0') == std::string::npos;
}

// Whether all words are the same number, and not root's.
bool IsOneOrdinaryId(const std::string& ids) {
  const std::vector<std::string> words =
      absl::StrSplit(ids, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  return words.size() == 4 && words[0] != "0" &&
         std::all_of(words.begin(), words.end(),
                     [&](const std::string& word) { return word == words[0]; });
}

// The only value of a key; empty when there is none or there are several.
std::string Only(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() || found->second.size() != 1
             ? ""
             : found->second.front();
}

// One kind of jail, and the job that is run in it.
struct Place {
  std::string kind;
  std::string name;  // for people
  Job job;
  // Of its program; null for a shell.
  const policy::Language* language = nullptr;
};

policy::Limits LimitsOf(policy::Limits limits) {
  limits.wall_time = limits.cpu_time = kTime;
  limits.output_bytes = std::max(limits.output_bytes, kMinOutput);
  limits.output_total_bytes = std::max(limits.output_total_bytes, kMinOutput);
  return limits;
}

Job ShellJob(const policy::Profile& profile, const std::string& jail_template) {
  Job job;
  job.template_name = jail_template;
  job.has_network = jail_template == profile.network_template;
  job.limits = LimitsOf(profile.limits);
  job.argv = {"/bin/sh", "-c", kIsolationScript};
  job.env = BaseEnvironment();
  return job;
}

// The script as a program of that language; nothing when such a program would
// not be run by an interpreter that has already started.
std::optional<Job> ProgramJob(const policy::SharedProfile& profile,
                              const policy::Language& language) {
  policy::Limits limits = profile->limits;
  policy::RaiseTo(language.limits, limits);
  v1::RunCodeRequest request;
  request.set_language(language.id);
  request.set_code(language.canary->shell);
  Job job =
      MakeJob(language, profile, {.run = LimitsOf(limits)}, std::move(request));
  if (job.zygote.empty() && job.prestart.empty()) return std::nullopt;
  job.files.push_back({policy::kIsolationFile, kIsolationScript, false});
  // The script is ours, and its output has to be read unchanged.
  job.inspection = nullptr;
  job.redactor = nullptr;
  return job;
}

std::vector<Place> PlacesOf(const PolicySet& policy) {
  std::vector<Place> places;
  std::set<std::string> known;  // kinds with the same name are the same
  const auto add = [&](const std::string& kind, const policy::Profile& profile,
                       const std::string& what, Job job,
                       const policy::Language* language = nullptr) {
    if (!known.insert(kind).second) return;
    places.push_back({kind, absl::StrCat(what, " of profile ", profile.name),
                      std::move(job), language});
  };
  for (const policy::SharedProfile& profile : policy.profiles()) {
    add(profile->jail_template, *profile, "a jail",
        ShellJob(*profile, profile->jail_template));
    add(profile->run_template(), *profile, "a jail with the network",
        ShellJob(*profile, profile->run_template()));
    const std::vector<policy::Language>* languages =
        policy.languages().LanguagesIn(profile->image);
    if (languages == nullptr) continue;
    for (const policy::Language& language : *languages) {
      if (!language.canary || language.canary->shell.empty() ||
          !policy::AllowsLanguage(*profile, language.id)) {
        continue;
      }
      if (std::optional<Job> job = ProgramJob(profile, language)) {
        add(absl::StrCat(profile->run_template(), "/", language.id), *profile,
            absl::StrCat("a jail for ", language.name), *std::move(job),
            &language);
      }
    }
  }
  return places;
}

std::string KindOf(const Job& job) {
  if (!job.prestart.empty()) return job.prestart;
  return job.zygote.empty() ? sandbox::kExecKind : job.zygote;
}

absl::Status TryOnce(Job job, JobRunner& runner, CancelToken& cancel) {
  job.run_id = NewRunId();
  job.is_trial = true;
  const absl::StatusOr<JobResult> result = runner.Run(job, cancel, nullptr);
  if (cancel.reason().has_value()) return absl::CancelledError("shutting down");
  if (!result.ok()) {
    // Only output that came out of a jail says anything about it.
    return absl::UnavailableError(result.status().message());
  }
  absl::Status judged = JudgeIsolation(result->stdout_result.data);
  if (absl::IsFailedPrecondition(judged)) return judged;
  // When a run can't get the kind of jail that it wants, it falls back to
  // another.
  const std::string wanted = KindOf(job);
  if (result->timings.kind != wanted) {
    return absl::UnavailableError(absl::StrCat(
        "there was no jail of kind ", wanted, ", only ", result->timings.kind));
  }
  if (judged.ok()) return judged;
  return absl::UnknownError(
      absl::StrCat(judged.message(), ": ",
                   AbslView(policy::OutcomeName(result->verdict.outcome)), " (",
                   result->verdict.explanation, "), stderr ",
                   Quoted(result->stderr_result.data, kMaxQuotedBytes)));
}

// A run that went wrong says nothing of jails, so it takes two to call one
// broken; a third comes where one of the two said nothing.
absl::Status Try(const Job& job, JobRunner& runner, CancelToken& cancel) {
  absl::Status escaped;
  absl::Status last;
  for (int i = 0; i < 2 + (escaped.ok() ? 0 : 1); ++i) {
    last = TryOnce(job, runner, cancel);
    if (last.ok() || absl::IsCancelled(last)) return last;
    if (!absl::IsFailedPrecondition(last)) continue;
    if (!escaped.ok()) return last;
    escaped = last;
  }
  // The program got out once, and the jail never held.
  return escaped.ok() ? last : escaped;
}

}  // namespace

// When all is well the script prints only the facts and "end". The shell's own
// errors are dropped, since they are the good case. It uses "true" and not ":",
// because a redirection that fails ends the shell when it belongs to a special
// built-in (POSIX, "Consequences of Shell Errors"). A file below which there is
// another one can be opened and is empty.
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
for file in /etc/shadow /etc/sudoers /proc/kcore /proc/keys /dev/mem /dev/kmsg \
    /proc/1/environ /proc/sys/kernel/core_pattern.x \
    /run/systemd/private /var/run/docker.sock; do
  line=
  if true <"$file" && { read -r line <"$file" || [ -n "$line" ]; }; then
    echo "reads: $file"
  fi
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
  must(facts["process"].size() <= kMaxProcesses,
       absl::StrCat("it sees ", facts["process"].size(), " processes"));
  for (const char* deed : {"reads", "writes", "does"}) {
    for (const std::string& what : facts[deed]) {
      must(false, absl::StrCat("it ", deed, " ", what));
    }
  }
  if (wrong.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrJoin(wrong, "; "));
}

IsolationCanary::Found IsolationCanary::Check(const PolicySet& policy,
                                              const UsableFunction& usable,
                                              JobRunner& runner,
                                              CancelToken& cancel,
                                              const EscapeFunction& on_escape) {
  Found found;
  for (const Place& place : PlacesOf(policy)) {
    absl::Status held =
        place.language == nullptr ? absl::OkStatus() : usable(*place.language);
    if (!held.ok() && !absl::IsUnavailable(held)) continue;
    if (held.ok()) held = Try(place.job, runner, cancel);
    if (absl::IsCancelled(held)) {
      found.status = held;
      return found;
    }
    if (held.ok()) {
      ++found.held;
      escaped_.erase(place.kind);
    } else if (absl::IsFailedPrecondition(held)) {
      escaped_[place.kind] = {
          place.job.template_name,
          absl::StrCat("in ", place.name, ": ", held.message())};
      on_escape(Escapes(policy));
    } else {
      ++found.not_tried;
      found.why = absl::StrCat("in ", place.name, ": ", held.message());
    }
  }
  found.status = Escapes(policy);
  if (found.status.ok() && found.held == 0) {
    found.status = absl::UnavailableError(
        found.why.empty() ? "there is no profile" : found.why);
  }
  return found;
}

absl::Status IsolationCanary::Escapes(const PolicySet& policy) const {
  std::string all;
  for (const auto& [kind, escape] : escaped_) {
    if (policy.FindByTemplate(escape.jail_template) == nullptr) continue;
    absl::StrAppend(&all, all.empty() ? "" : "; ", escape.what);
  }
  return all.empty() ? absl::OkStatus() : absl::FailedPreconditionError(all);
}

std::set<std::string> IsolationCanary::EscapedTemplates() const {
  std::set<std::string> templates;
  for (const auto& [kind, escape] : escaped_) {
    templates.insert(escape.jail_template);
  }
  return templates;
}

}  // namespace sandglass::server
