#include "server/languages.h"

#include <unistd.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/errors.h"
#include "server/log.h"
#include "server/run.h"
#include "server/text.h"

namespace sandglass::server {
namespace {

constexpr size_t kMaxVersionBytes = 128;

// A version goes to terminals and into protobuf strings.
std::string Presentable(absl::string_view line) {
  std::string text(
      absl::StripAsciiWhitespace(line).substr(0, kMaxVersionBytes));
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return text;
}

}  // namespace

absl::Status CheckAvailable(const policy::Language& language) {
  if (::access(language.run.front().c_str(), X_OK) == 0) {
    return absl::OkStatus();
  }
  return LanguageUnavailable(absl::StrCat(
      language.name, " is not installed on the server: there is no ",
      language.run.front(), " (Debian package ", language.package, ")"));
}

LanguageProbe::LanguageProbe(const PolicySet& policy, RunFunction run)
    : policy_(policy), run_(std::move(run)) {}

LanguageProbe::~LanguageProbe() {
  cancel_.Cancel(policy::KillReason::kShutdown);
  if (thread_.joinable()) thread_.join();
}

void LanguageProbe::Start() {
  thread_ = std::thread([this] { Probe(); });
}

bool LanguageProbe::WaitUntilDone(absl::Duration timeout) const {
  absl::MutexLock lock(&mutex_);
  return mutex_.AwaitWithTimeout(absl::Condition(&done_), timeout);
}

std::string LanguageProbe::Version(const std::string& language_id) const {
  absl::MutexLock lock(&mutex_);
  const auto it = versions_.find(language_id);
  return it == versions_.end() ? "" : it->second;
}

void LanguageProbe::Probe() {
  for (const policy::Language& language : policy_.languages().languages()) {
    if (cancel_.reason().has_value()) break;
    if (language.version.empty() || !CheckAvailable(language).ok()) continue;
    absl::StatusOr<std::string> version = AskVersion(language);
    if (!version.ok()) {
      Log(LogLevel::kWarning, "language_probe_failed",
          {{"lang", language.id},
           {"error", std::string(version.status().message())}});
      continue;
    }
    Log(LogLevel::kInfo, "language",
        {{"lang", language.id}, {"version", *version}});
    absl::MutexLock lock(&mutex_);
    versions_[language.id] = *std::move(version);
  }
  absl::MutexLock lock(&mutex_);
  done_ = true;
}

absl::StatusOr<std::string> LanguageProbe::AskVersion(
    const policy::Language& language) {
  const policy::Profile& profile = *policy_.FindProfile("");
  Job job;
  job.run_id = NewRunId();
  job.template_name = profile.name;
  job.source_file = language.source_file;
  job.argv = language.version;
  job.env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"},
             {"HOME", "/home/sandbox"},
             {"LANG", "C.UTF-8"}};
  job.limits = profile.limits;
  absl::StatusOr<JobResult> result = run_(job, cancel_, nullptr);
  if (!result.ok()) return result.status();
  if (result->verdict.outcome != policy::Outcome::kOk) {
    return absl::InternalError(
        absl::StrCat(language.version.front(), " ended with ",
                     AbslView(policy::OutcomeName(result->verdict.outcome)),
                     ": ", result->verdict.explanation,
                     "; stderr: ", Quote(result->stderr_result.data, 200)));
  }
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

}  // namespace sandglass::server
