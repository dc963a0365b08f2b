#include "server/languages/languages.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/jail/jail.h"
#include "server/base/clock.h"
#include "server/base/errors.h"
#include "server/base/log.h"
#include "server/base/strings.h"
#include "server/images/image_files.h"
#include "server/job/job_builder.h"
#include "server/languages/canary.h"

namespace sandglass::server {
namespace {

constexpr size_t kMaxVersionBytes = 128;
// The place of the host's programs in the image; /bin and the like lead there.
constexpr absl::string_view kImagePrefix = "/usr/";

// Makes a version fit for terminals and protobuf strings.
std::string Presentable(absl::string_view line) {
  std::string text(
      absl::StripAsciiWhitespace(line).substr(0, kMaxVersionBytes));
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

// Every executable of the host that a language uses.
std::set<std::string> Executables(const policy::Language& language) {
  std::set<std::string> all(language.needs.begin(), language.needs.end());
  all.insert(language.run.front());
  if (language.compile) {
    all.insert(language.compile->command.front());
    if (!language.compile->starter.empty()) {
      all.insert(language.compile->starter.front());
    }
  }
  std::erase_if(all, [](const std::string& path) {
    return absl::StartsWith(path, kWorkspacePrefix);
  });
  return all;
}

absl::Status CheckExecutable(const policy::Language& language,
                             const std::string& path) {
  const std::string package =
      language.package.empty()
          ? ""
          : absl::StrCat(" (Debian package ", language.package, ")");
  const std::optional<std::string> real =
      RealPathInImage(language.image_root, path);
  if (!real || ::access((language.image_root + *real).c_str(), X_OK) != 0) {
    return LanguageUnavailable(absl::StrCat(
        language.name, " is not installed ",
        language.image.empty()
            ? "on the server"
            : absl::StrCat("in the image \"", language.image, "\""),
        ": there is no ", path, package));
  }
  if (!absl::StartsWith(*real, kImagePrefix)) {
    return LanguageUnavailable(
        absl::StrCat(language.name, " can't be used: ", path, " leads to ",
                     Quoted(*real, 200), ", and jails have only what is below ",
                     kImagePrefix, package));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckInstalled(const policy::Language& language) {
  for (const std::string& path : Executables(language)) {
    absl::Status found = CheckExecutable(language, path);
    if (!found.ok()) return found;
  }
  return absl::OkStatus();
}

std::string LanguageProbe::KeyOf(const policy::Language& language) {
  return language.image.empty()
             ? language.id
             : absl::StrCat(language.id, "@", language.image);
}

LanguageProbe::LanguageProbe(const LivePolicy& policy,
                             std::optional<PreparedStore> store,
                             JobRunner& runner, ReadyFunction ready,
                             CheckedFunction checked)
    : policy_(policy),
      languages_(policy.Get()->languages()),
      store_(std::move(store)),
      runner_(runner),
      ready_(std::move(ready)),
      checked_(std::move(checked)) {}

LanguageProbe::~LanguageProbe() { Stop(); }

void LanguageProbe::Stop() {
  cancel_.Cancel(policy::KillReason::kShutdown);
  if (thread_.joinable()) thread_.join();
}

void LanguageProbe::Start() {
  thread_ = std::thread([this] { Probe(); });
}

bool LanguageProbe::WaitForVersions(absl::Duration timeout) const {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&versions_known_), timeout);
}

absl::Status LanguageProbe::Available(const policy::Language& language,
                                      const policy::Profile& profile) const {
  if (absl::Status usable = Usable(language); !usable.ok()) return usable;
  absl::MutexLock lock(&mutex_);
  const auto tried = canaries_.find(KeyOf(language));
  if (tried == canaries_.end()) return absl::OkStatus();
  const auto it = tried->second.find(PolicySet::FilterName(profile));
  return it == tried->second.end() ? absl::OkStatus() : it->second;
}

absl::Status LanguageProbe::Available(const policy::Language& language) const {
  if (absl::Status usable = Usable(language); !usable.ok()) return usable;
  absl::MutexLock lock(&mutex_);
  absl::Status best;
  const auto tried = canaries_.find(KeyOf(language));
  if (tried == canaries_.end()) return best;
  for (const auto& [filter, works] : tried->second) {
    if (works.ok()) return works;
    best = works;
  }
  return best;
}

bool LanguageProbe::Checking(const policy::Language& language) const {
  if (!language.canary || !Usable(language).ok()) return false;
  absl::MutexLock lock(&mutex_);
  return !checked_once_;
}

absl::Status LanguageProbe::Usable(const policy::Language& language) const {
  absl::Status installed = CheckInstalled(language);
  if (!installed.ok()) return installed;
  if (!language.prepare || language.prepare->optional) return absl::OkStatus();
  return Prepared(language);
}

std::string LanguageProbe::Version(const policy::Language& language) const {
  absl::MutexLock lock(&mutex_);
  const auto it = versions_.find(KeyOf(language));
  return it == versions_.end() ? "" : it->second;
}

void LanguageProbe::Probe() {
  const auto note = [this](bool LanguageProbe::*reached) {
    absl::MutexLock lock(&mutex_);
    this->*reached = true;
  };
  AdoptStored();
  AskVersions(true);
  note(&LanguageProbe::versions_known_);
  PrepareAll();
  if (!cancel_.reason()) Log(LogLevel::kInfo, "languages_ready");
  AskVersions(false);
  if (skip_canaries_) {
    note(&LanguageProbe::checked_once_);
  } else {
    CheckCanaries();
  }
  RemoveUnused();
}

void LanguageProbe::AskVersions(bool of_host) {
  const std::shared_ptr<const PolicySet> policy = policy_.Get();
  for (const policy::Language* language : languages_.InAllImages()) {
    if (cancel_.reason().has_value()) return;
    if (language->image.empty() != of_host) continue;
    if (!CheckInstalled(*language).ok()) continue;
    absl::StatusOr<std::string> version =
        AskVersion(*language, *policy->ToolProfile(*language));
    if (!version.ok()) {
      Log(LogLevel::kWarning, "language_probe_failed",
          {{"lang", KeyOf(*language)},
           {"error", std::string(version.status().message())}});
      continue;
    }
    Log(LogLevel::kInfo, "language",
        {{"lang", KeyOf(*language)}, {"version", *version}});
    absl::MutexLock lock(&mutex_);
    versions_[KeyOf(*language)] = *std::move(version);
  }
}

void LanguageProbe::CheckCanaries(Which which) {
  absl::MutexLock one(&checking_);
  const std::shared_ptr<const PolicySet> policy = policy_.Get();
  const MonotonicTime began = Now();
  std::map<std::string, ByFilter> canaries, before;
  {
    absl::MutexLock lock(&mutex_);
    before = canaries_;
  }
  absl::Status all_work;
  for (const policy::Language* language : languages_.InAllImages()) {
    if (!language->canary || !Usable(*language).ok()) continue;
    const ByFilter& known = before[KeyOf(*language)];
    const bool is_good =
        !known.empty() && std::ranges::all_of(known, [](const auto& each) {
          return each.second.ok();
        });
    ByFilter found = which == Which::kFailed && is_good
                         ? known
                         : CheckOne(*policy, *language, known);
    for (auto& [filter, works] : found) {
      if (!works.ok()) {
        if (all_work.ok()) all_work = works;
        Log(LogLevel::kError, "canary_failed",
            {{"lang", KeyOf(*language)},
             {"error", std::string(works.message())}});
        works = LanguageUnavailable(std::string(works.message()));
      }
      canaries[KeyOf(*language)][filter] = works;
    }
    if (cancel_.reason().has_value()) return;
  }
  {
    absl::MutexLock lock(&mutex_);
    canaries_ = std::move(canaries);
    checked_once_ = true;
  }
  Log(LogLevel::kInfo, "canaries_done",
      {{"all_work", all_work.ok()},
       {"ms", absl::ToInt64Milliseconds(Since(began))}});
  if (checked_) checked_(all_work);
}

LanguageProbe::ByFilter LanguageProbe::CheckOne(
    const PolicySet& policy, const policy::Language& language,
    const ByFilter& before) {
  ByFilter by_filter;
  for (const CanaryRun& canary : PlanCanaries(policy, language)) {
    absl::Status& works = by_filter[PolicySet::FilterName(*canary.profile)];
    if (!works.ok()) continue;
    const absl::Status status = RunCanary(canary, runner_, cancel_);
    if (absl::IsFailedPrecondition(status)) {
      works = status;
      continue;
    }
    if (status.ok() || cancel_.reason().has_value()) continue;
    // This says nothing, so what was known before stays.
    if (const auto was = before.find(PolicySet::FilterName(*canary.profile));
        was != before.end()) {
      works = was->second;
    }
    Log(LogLevel::kWarning, "canary_not_run",
        {{"lang", language.id},
         {"profile", canary.profile->name},
         {"error", std::string(status.message())}});
  }
  return by_filter;
}

absl::StatusOr<std::string> LanguageProbe::AskVersion(
    const policy::Language& language, const policy::Profile& profile) {
  const absl::StatusOr<JobResult> result = RunTool(
      MakeToolJob(language, profile, language.limits, language.version, {}),
      nullptr);
  if (!result.ok()) return result.status();
  // Some runtimes print their version to stderr.
  for (const std::string* output :
       {&result->stdout_result.data, &result->stderr_result.data}) {
    for (const absl::string_view line : absl::StrSplit(*output, '\n')) {
      if (std::string text = Presentable(line); !text.empty()) return text;
    }
  }
  return absl::InternalError(
      absl::StrCat(language.version.front(), " printed nothing"));
}

absl::StatusOr<JobResult> LanguageProbe::RunTool(const Job& job,
                                                 RunListener* listener) {
  absl::StatusOr<JobResult> result = runner_.Run(job, cancel_, listener);
  if (!result.ok() || result->verdict.outcome == policy::Outcome::kOk) {
    return result;
  }
  return absl::InternalError(
      absl::StrCat(job.argv.front(), " ended with ",
                   AbslView(policy::OutcomeName(result->verdict.outcome)), ": ",
                   result->verdict.explanation,
                   " stderr: ", Quoted(result->stderr_result.data, 300)));
}

}  // namespace sandglass::server
