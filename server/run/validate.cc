#include "server/run/validate.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "policy/limits/limit_fields.h"
#include "policy/text/paths.h"
#include "server/base/errors.h"
#include "server/base/strings.h"
#include "server/job/job_builder.h"
#include "server/job/library_checks.h"
#include "server/job/request_checks.h"
#include "server/session/session.h"

namespace sandglass::server {
namespace {

void CheckCode(const std::string& code, Violations& violations) {
  if (code.empty()) {
    violations.push_back({"code", "is empty; there is nothing to run"});
  }
  if (RefuseLarge("code", code.size(), kMaxCodeBytes, violations)) return;
  if (const size_t nul = code.find('\0'); nul != std::string::npos) {
    violations.push_back(
        {"code", absl::StrCat("has a NUL byte at offset ", nul)});
  }
}

void CheckArgs(const v1::RunCodeRequest& request, Violations& violations) {
  const auto& args = request.args();
  if (RefuseMany("args", args.size(), kMaxArgs, violations)) return;
  size_t bytes = 0;
  for (int i = 0; i < args.size(); ++i) {
    bytes += args[i].size() + 1;
    if (HasNul(args[i])) {
      violations.push_back({Indexed("args", i), "has a NUL byte"});
    }
  }
  RefuseLarge("args", bytes, kMaxArgBytes, violations);
}

// The paths that are taken already, with files and directories kept separately:
// "a" can't be a file when "a/b" is one.
class PathSet {
 public:
  // Empty when the path is free; otherwise says what is in its way.
  std::string Add(const std::string& path) {
    if (directories_.count(path) != 0) {
      return "is a directory for another file";
    }
    std::set<std::string> parents;
    for (size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      const std::string& parent = *parents.insert(path.substr(0, slash)).first;
      if (files_.count(parent) != 0) {
        return absl::StrCat("needs ", Quoted(parent),
                            " as a directory, which is a file");
      }
    }
    if (!files_.insert(path).second) return "is there twice";
    directories_.merge(parents);
    return "";
  }

 private:
  std::set<std::string> files_;
  std::set<std::string> directories_;
};

void CheckFiles(const v1::RunCodeRequest& request,
                const policy::Language* language, Violations& violations) {
  const auto& files = request.files();
  if (RefuseMany("files", files.size(), kMaxFiles, violations)) return;
  PathSet taken;
  // The files that the compile phase puts beside those of the request.
  std::set<std::string> products;
  if (language != nullptr) {
    taken.Add(language->source_file);
    if (const auto& phase = language->compile) {
      products.insert(phase->artifacts.begin(), phase->artifacts.end());
    }
    for (const std::string& product : products) taken.Add(product);
  }
  size_t bytes = 0;
  for (int i = 0; i < files.size(); ++i) {
    const std::string& path = files[i].path();
    const std::string field = absl::StrCat(Indexed("files", i), ".path");
    bytes += files[i].content().size();
    if (const absl::Status valid = policy::ValidateRelativePath(path);
        !valid.ok()) {
      violations.push_back({field, std::string(valid.message())});
    } else if (language != nullptr && path == language->source_file) {
      violations.push_back(
          {field, absl::StrCat(Quoted(path), " is where the code goes")});
    } else if (products.count(path) != 0) {
      violations.push_back(
          {field,
           absl::StrCat(Quoted(path), " is where the compiled program goes")});
    } else if (const std::string conflict = taken.Add(path);
               !conflict.empty()) {
      violations.push_back({field, absl::StrCat(Quoted(path), " ", conflict)});
    }
  }
  RefuseLarge("files", bytes, kMaxFileBytes, violations);
}

// Files of a jail with a kernel may also be fetched from outside of /workspace.
void CheckFetch(const v1::RunCodeRequest& request, bool with_absolute,
                Violations& violations) {
  const auto& fetch = request.fetch();
  if (RefuseMany("fetch", fetch.size(), kMaxFetch, violations)) return;
  for (int i = 0; i < fetch.size(); ++i) {
    std::string_view pattern = fetch[i];
    if (with_absolute && pattern.substr(0, 1) == "/") pattern.remove_prefix(1);
    const absl::Status valid = policy::ValidateGlob(pattern);
    if (!valid.ok()) {
      violations.push_back({Indexed("fetch", i), std::string(valid.message())});
    }
  }
}

void CheckMarks(const v1::RunCodeRequest& request, Violations& violations) {
  if (!RefuseLarge("request_id", request.request_id().size(),
                   kMaxRequestIdBytes, violations) &&
      !IsPrintableAscii(request.request_id())) {
    violations.push_back(
        {"request_id", "has characters that are not printable ASCII"});
  }
  CheckLabels(request.labels(), violations);
  if (!v1::RunPriority_IsValid(request.priority())) {
    violations.push_back(
        {"priority", absl::StrCat("has no value ", request.priority())});
  }
}

policy::Limits CompileLimits(const PolicySet& policy,
                             const policy::Profile& profile,
                             const policy::Language& language,
                             const v1::RunCodeRequest& request,
                             Violations& violations) {
  if (!language.compile) return {};
  const policy::LimitRequest wishes =
      LimitWishes(request.compile_limits(), "compile_limits", violations);
  return ApplyWishes(policy, profile, &language, language.compile->limits,
                     wishes, "compile_limits", violations);
}

// Fills the limits of both phases.
void CheckLimits(const PolicySet& policy, const policy::Profile* profile,
                 const policy::Language* language,
                 const v1::RunCodeRequest& request, PhaseLimits& limits,
                 Violations& violations) {
  if (language != nullptr && !language->compile &&
      request.has_compile_limits()) {
    violations.push_back(
        {"compile_limits",
         absl::StrCat(language->name, " has no compile phase")});
  }
  const policy::LimitRequest run =
      LimitWishes(request.limits(), "limits", violations);
  if (profile == nullptr) return;
  limits.run = ApplyWishes(
      policy, *profile, language,
      language == nullptr ? policy::LimitFloors() : language->limits, run,
      "limits", violations);
  if (language == nullptr) return;
  limits.compile =
      CompileLimits(policy, *profile, *language, request, violations);
}

// Refuses what only a run outside a session can have, or only a program.
void CheckLeftOut(const v1::RunCodeRequest& request,
                  const policy::Language& language, Violations& violations) {
  const auto refuse = [&](bool given, const char* field, const char* instead) {
    if (given) violations.push_back({field, instead});
  };
  refuse(!request.profile().empty(), "profile",
         "is the session's; it was chosen by CreateSession");
  refuse(request.env_size() > 0, "env",
         "is the session's; it was chosen by CreateSession");
  refuse(request.libraries_size() > 0, "libraries",
         "are the session's; they were chosen by CreateSession");
  refuse(!request.library_lock().empty(), "library_lock",
         "is the session's; it was chosen by CreateSession");
  refuse(request.rich_results() && !language.kernel, "rich_results",
         "the session's runs are programs, which have none");
  refuse(request.has_compile_limits() && (language.kernel || !language.compile),
         "compile_limits", "the session's runs have no compile phase");
}

// A request may name only those limits that apply to a single run.
policy::Limits CellLimits(const PolicySet& policy, const SessionSpec& spec,
                          const v1::RunCodeRequest& request,
                          Violations& violations) {
  const policy::LimitRequest named =
      LimitWishes(request.limits(), "limits", violations);
  const policy::LimitRequest wishes = {
      .wall_time = named.wall_time,
      .cpu_time = named.cpu_time,
      .output_bytes = named.output_bytes,
      .output_total_bytes = named.output_total_bytes};
  for (const policy::LimitField& field : policy::kLimitFields) {
    if (field.wish(named) && !field.wish(wishes)) {
      violations.push_back(
          {absl::StrCat("limits.", AbslView(policy::LimitName(field.kind))),
           "is the whole session's; it was set by CreateSession"});
    }
  }
  policy::Profile session = *spec.profile;
  session.limits = session.maximum = spec.limits;
  return ApplyWishes(policy, session, spec.language, {}, wishes, "limits",
                     violations);
}

// The session's spec changed for a run in another language than the session's
// own: it has the same files and limits, but no libraries, since these belong
// to the session's own language. Null when the run is in that language or names
// none.
std::shared_ptr<const SessionSpec> GuestIn(const PolicySet& policy,
                                           const SessionSpec& session,
                                           const std::string& name,
                                           Violations& violations) {
  if (name.empty()) return nullptr;
  const policy::Language* language = CheckLanguage(policy, name, violations);
  if (language == nullptr ||
      (session.language != nullptr && language->id == session.language->id)) {
    return nullptr;
  }
  if (!policy::AllowsLanguage(*session.profile, language->id)) {
    violations.push_back(
        {"language",
         absl::StrCat("the session's profile ", session.profile->name,
                      " does not allow ", language->id)});
    return nullptr;
  }
  auto guest = std::make_shared<SessionSpec>(session);
  guest->language = InImageOf(policy, session.profile, language);
  guest->libraries.reset();
  return guest;
}

absl::StatusOr<ValidRequest> ValidateCell(
    const PolicySet& policy, v1::RunCodeRequest&& request,
    const std::string& prefix, const std::shared_ptr<Session>& session) {
  Violations violations;
  const std::shared_ptr<const SessionSpec> guest =
      GuestIn(policy, session->spec(), request.language(), violations);
  const SessionSpec& spec = guest == nullptr ? session->spec() : *guest;
  if (spec.language == nullptr && violations.empty()) {
    return SessionWithoutKernel(session->id());
  }
  CheckCode(request.code(), violations);
  RefuseLarge("stdin", request.stdin().size(), kMaxStdinBytes, violations);
  CheckArgs(request, violations);
  CheckContext(request.context(), violations);
  if (spec.language == nullptr) {
    return InvalidRequest(WithPrefix(prefix, std::move(violations)));
  }
  CheckLeftOut(request, *spec.language, violations);
  // A cell is no file, so that none can be in its way.
  CheckFiles(request, spec.language->kernel ? nullptr : spec.language,
             violations);
  CheckFetch(request, /*with_absolute=*/true, violations);
  // For the session's own language this was checked when the session was made.
  if (guest != nullptr) {
    CheckKernelStarts(*guest->language, guest->limits, "language", violations);
  }
  PhaseLimits limits;
  limits.run = CellLimits(policy, spec, request, violations);
  limits.compile =
      CompileLimits(policy, *spec.profile, *spec.language, request, violations);
  CheckMarks(request, violations);
  if (!violations.empty()) {
    return InvalidRequest(WithPrefix(prefix, std::move(violations)));
  }
  if (guest != nullptr) {
    // A context that a request names has no "@", so this one is another.
    request.set_context(
        absl::StrCat(request.context(), "@", spec.language->id));
  }
  SessionPlace place = {.session = session, .context = request.context()};
  if (guest != nullptr) place.guest = *guest;
  return ValidRequest{
      .job = spec.language->kernel
                 ? MakeCellJob(spec, limits.run, std::move(place),
                               std::move(request))
                 : MakeProgramJob(spec, limits, std::move(place),
                                  std::move(request)),
      .language = spec.language,
      .profile = spec.profile};
}

}  // namespace

absl::StatusOr<ValidRequest> ValidateRunCode(
    const PolicySet& policy, v1::RunCodeRequest&& request,
    const std::string& prefix, const std::shared_ptr<Session>& session,
    const policy::SharedProfile& instead) {
  if (session != nullptr) {
    return ValidateCell(policy, std::move(request), prefix, session);
  }
  Violations violations;
  const policy::Language* language =
      CheckLanguage(policy, request.language(), violations);
  const policy::SharedProfile profile =
      instead != nullptr
          ? instead
          : CheckProfile(policy, request.profile(), language, violations);
  // A profile that is only tried uses the host's jails.
  if (instead == nullptr) language = InImageOf(policy, profile, language);
  CheckCode(request.code(), violations);
  RefuseLarge("stdin", request.stdin().size(), kMaxStdinBytes, violations);
  if (!request.context().empty()) {
    violations.push_back({"context", "is for runs with a session_id"});
  }
  if (request.rich_results() && language != nullptr && !language->kernel) {
    violations.push_back({"rich_results", absl::StrCat(language->name,
                                                       " has no kernel that "
                                                       "gives them")});
  }
  CheckArgs(request, violations);
  CheckEnv(request.env(), violations);
  CheckFiles(request, language, violations);
  CheckFetch(request, /*with_absolute=*/request.rich_results(), violations);
  PhaseLimits limits;
  CheckLimits(policy, profile.get(), language, request, limits, violations);
  if (request.rich_results() && language != nullptr && profile != nullptr) {
    CheckKernelStarts(*language, limits.run, "limits.open_files", violations);
  }
  CheckMarks(request, violations);
  absl::StatusOr<std::optional<LibraryRequest>> libraries = CheckLibraries(
      LibraryWish::Of(request), language, profile.get(), violations);
  if (!violations.empty()) {
    return InvalidRequest(WithPrefix(prefix, std::move(violations)));
  }
  if (!libraries.ok()) return libraries.status();
  return ValidRequest{.job = MakeJob(*language, profile, limits,
                                     std::move(request), *std::move(libraries)),
                      .language = language,
                      .profile = profile};
}

}  // namespace sandglass::server
