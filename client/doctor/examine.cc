#include "client/doctor/examine.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/doctor/limits.h"

namespace sandglass::client {
namespace {

// Those that need what the daemon says it has.
std::vector<Attempt> InsideAttempts(const v1::GetServerInfoResponse& info) {
  std::vector<Attempt> all;
  for (const auto part : {SelfAttempts(), FileAttempts(), SocketAttempts(),
                          NetworkAttempts(), CallAttempts()}) {
    for (const Attempt& attempt : part) {
      if (WhyLacking(info, attempt.name).empty() &&
          WhyLacking(info, attempt.protection).empty()) {
        all.push_back(attempt);
      }
    }
  }
  return all;
}

// A JVM needs seconds to be ready for the next run, and its jail is built like
// the others of its sort.
bool IsSlowToWait(const Way& way) { return way.language == "java"; }

std::string NewMark() {
  std::random_device random;
  return absl::StrCat("sandglass-doctor-", getpid(), "-",
                      absl::Hex(random(), absl::kZeroPad8));
}

class Examiner {
 public:
  Examiner(const DoctorOptions& options, Asker& asker,
           const std::function<void(const std::string&)>& progress,
           Examination& examination)
      : options_(options),
        asker_(asker),
        progress_(progress),
        examination_(examination),
        inside_(InsideAttempts(examination.info)) {}

  absl::Status Run() {
    absl::Status status = ChooseLanguages();
    if (!status.ok()) return status;
    for (const std::string& language : languages_) InspectInside(language);
    // The first run above has caused one to be made; it may be waiting by now.
    InspectInsideWaiting();
    if (options_.quick) return absl::OkStatus();
    for (const Way& way : std::vector<Way>(examination_.ways)) {
      if (!IsWhole(way)) continue;
      MarkWhole(way.name);
      InspectOthers(way);
      GoIntoLimits(way);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ChooseLanguages();
  void InspectInside(const std::string& language);
  void InspectInsideWaiting();
  void Conclude(const Way& way,
                const absl::StatusOr<v1::RunCodeResponse>& answer);
  void InspectOthers(const Way& way);
  void GoIntoLimits(const Way& way);
  bool IsWhole(const Way& way);
  void MarkWhole(const std::string& name);

  bool AddIfLacking(const Way& way, const char* protection) {
    const std::string why = WhyLacking(examination_.info, protection);
    if (why.empty()) return false;
    examination_.Add(way, Judgement{protection, State::kMissing, why});
    return true;
  }

  void Log(const Way& way, absl::Span<const Attempt> attempts,
           const ProbeReply& reply) {
    for (const Attempt& attempt : attempts) {
      const auto answer = reply.answers.find(attempt.name);
      if (answer == reply.answers.end()) continue;
      examination_.log.push_back(
          {attempt.protection, attempt.name, answer->second, way.name});
    }
  }

  const DoctorOptions& options_;
  Asker& asker_;
  const std::function<void(const std::string&)>& progress_;
  Examination& examination_;
  const std::vector<Attempt> inside_;
  std::vector<std::string> languages_;
  // For each way the limits of a run that asks for none.
  std::map<std::string, v1::Limits> limits_;
  std::set<std::string> kinds_seen_;
  bool fresh_is_whole_ = false;
};

absl::Status Examiner::ChooseLanguages() {
  const v1::GetServerInfoResponse& info = examination_.info;
  const auto profile = std::find_if(
      info.profiles().begin(), info.profiles().end(),
      [&](const auto& p) { return p.name() == examination_.profile; });
  if (profile == info.profiles().end()) {
    std::vector<std::string> names;
    for (const auto& each : info.profiles()) names.push_back(each.name());
    return absl::InvalidArgumentError(
        absl::StrCat("the daemon has no profile '", examination_.profile,
                     "'; it has ", absl::StrJoin(names, ", ")));
  }
  std::set<std::string> wanted(options_.languages.begin(),
                               options_.languages.end());
  for (const v1::LanguageInfo& language : info.languages()) {
    bool asked_for =
        options_.languages.empty() || wanted.erase(language.id()) > 0;
    for (const std::string& alias : language.aliases()) {
      if (wanted.erase(alias) > 0) asked_for = true;
    }
    if (!asked_for) continue;
    std::string why;
    if (std::find(profile->languages().begin(), profile->languages().end(),
                  language.id()) == profile->languages().end()) {
      why = absl::StrCat("the profile ", profile->name(),
                         " does not have this language");
    } else if (!language.available()) {
      why = absl::StrCat("not available: ", language.unavailable_reason());
    } else if (FindStarter(language.id()) == nullptr) {
      why = "this client has no program in this language";
    }
    if (why.empty()) {
      languages_.push_back(language.id());
    } else {
      examination_.skipped.emplace_back(language.id(), why);
    }
  }
  if (!wanted.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the daemon has no language '", *wanted.begin(),
                     "' (sandglass languages lists them)"));
  }
  return absl::OkStatus();
}

void Examiner::Conclude(const Way& way,
                        const absl::StatusOr<v1::RunCodeResponse>& answer) {
  kinds_seen_.insert(way.kind);
  examination_.ways.push_back(way);
  if (!answer.ok()) {
    examination_.Add(way, NotChecked(inside_, answer.status().message()));
    return;
  }
  limits_[way.name] = answer->limits();
  ProbeReply reply = ReplyOf(*answer);
  LeaveOut(options_.environment, reply);
  examination_.Add(way, JudgeAnswers(inside_, reply));
  for (const Protection& protection : Protections()) {
    if (IsSeenFromInside(protection)) AddIfLacking(way, protection.id);
  }
  Log(way, inside_, reply);
}

void Examiner::InspectInside(const std::string& language) {
  if (asker_.interrupted()) return;
  const Way fresh = {language, language, "exec"};
  progress_(fresh.name);
  Conclude(fresh, asker_.AskIn(fresh, asker_.Request(fresh, {"inside"})));
  if (FindStarter(language)->fresh_name == nullptr) return;
  // A run as users make it. Some kinds of jail are only made ready after such a
  // run.
  const Way any = {language, language, ""};
  const absl::StatusOr<v1::RunCodeResponse> answer =
      asker_.Ask(asker_.Request(any, {"inside"}));
  if (!answer.ok()) {
    return Conclude({absl::StrCat(language, " as it comes"), language, ""},
                    answer);
  }
  const std::string kind = answer->timings().kind();
  if (kind == "exec" || kind.empty()) return;
  Conclude({kind, language, kind}, answer);
}

void Examiner::InspectInsideWaiting() {
  v1::GetServerInfoResponse info;
  if (asker_.interrupted() || !asker_.Info(info).ok()) return;
  for (const v1::PoolKind& each : info.pool()) {
    const std::string& kind = each.kind();
    const std::string language = kind.substr(0, kind.find('-'));
    // Jails of the kinds "-compile" are for compilers, never for programs.
    if (each.profile() != examination_.profile || kinds_seen_.count(kind) > 0 ||
        absl::EndsWith(kind, "-compile") ||
        std::find(languages_.begin(), languages_.end(), language) ==
            languages_.end()) {
      continue;
    }
    const Way way = {kind, language, kind};
    progress_(way.name);
    Conclude(way, asker_.AskIn(way, asker_.Request(way, {"inside"})));
  }
}

bool Examiner::IsWhole(const Way& way) {
  if (limits_.count(way.name) == 0 || IsSlowToWait(way)) return false;
  if (way.kind != "exec") return true;
  // All fresh interpreters get jails of the same kind.
  return !std::exchange(fresh_is_whole_, true);
}

void Examiner::MarkWhole(const std::string& name) {
  for (Way& way : examination_.ways) {
    if (way.name == name) way.whole = true;
  }
}

void Examiner::InspectOthers(const Way& way) {
  if (asker_.interrupted()) return;
  progress_(absl::StrCat(way.name, ", two runs at once"));
  const auto not_checked = [&](absl::string_view why) {
    examination_.Add(way, NotChecked(LookAttempts(), why));
    examination_.Add(
        way, Judgement{"own-namespaces", State::kNotChecked, std::string(why)});
  };
  if (examination_.info.admission().max_running() == 1) {
    return not_checked("the daemon runs one program at a time");
  }
  const std::string mark = NewMark();
  const auto companion = asker_.Accompany(asker_.Request(way, {"leave", mark}));
  if (!companion.ok()) return not_checked(companion.status().message());
  const ProbeReply& left = (*companion)->reply();
  const auto failed = left.answers.find("marks-not-left");
  if (!left.problem.empty() || failed == left.answers.end() ||
      failed->second != "none") {
    return not_checked("the other run could not leave its marks");
  }
  const absl::StatusOr<v1::RunCodeResponse> answer =
      asker_.AskIn(way, asker_.Request(way, {"look", mark}));
  if (!answer.ok()) return not_checked(answer.status().message());
  const ProbeReply reply = ReplyOf(*answer);
  examination_.Add(way, JudgeAnswers(LookAttempts(), reply));
  Log(way, LookAttempts(), reply);
  examination_.Add(way, JudgeNamespaces(left, reply, HostNamespaces()));
}

void Examiner::GoIntoLimits(const Way& way) {
  Judgement evidence = {"evidence", State::kNotChecked, "no limit was met"};
  for (const LimitTrial& trial : LimitTrials()) {
    if (asker_.interrupted()) return;
    if (AddIfLacking(way, trial.protection)) continue;
    progress_(absl::StrCat(way.name, ", ", trial.protection));
    v1::Limits in_force = limits_[way.name];
    v1::RunCodeRequest request = asker_.Request(way, {});
    trial.tighten(way, request, in_force);
    const std::string too_large = TooLarge(in_force);
    if (!too_large.empty()) {
      examination_.Add(
          way, Judgement{trial.protection, State::kNotChecked, too_large});
      continue;
    }
    for (const std::string& arg : trial.arguments(in_force)) {
      request.add_args(arg);
    }
    const absl::StatusOr<v1::RunCodeResponse> answer =
        asker_.AskIn(way, request);
    if (!answer.ok()) {
      examination_.Add(way, Judgement{trial.protection, State::kNotChecked,
                                      std::string(answer.status().message())});
      continue;
    }
    const Judgement judgement = trial.judge(*answer);
    examination_.Add(way, judgement);
    examination_.log.push_back(
        {trial.protection,
         absl::StrCat("run of '", absl::StrJoin(request.args(), " "), "'"),
         absl::StrCat(v1::Outcome_Name(answer->outcome()), ", ",
                      answer->evidence().explanation()),
         way.name});
    if (trial.has_evidence && judgement.state == State::kInForce &&
        evidence.state != State::kMissing) {
      evidence = JudgeEvidence(*answer);
    }
  }
  examination_.Add(way, evidence);
}

}  // namespace

absl::Status Examine(const DoctorOptions& options, Asker& asker,
                     const std::function<void(const std::string&)>& progress,
                     Examination& examination) {
  return Examiner(options, asker, progress, examination).Run();
}

}  // namespace sandglass::client
