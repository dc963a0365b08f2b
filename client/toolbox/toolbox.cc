#include "client/toolbox/toolbox.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/limits_text.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/base/utf8_check.h"
#include "client/connection/preparing_wait.h"
#include "client/toolbox/daemon_calls.h"

namespace sandglass::client {
namespace {

constexpr absl::Duration kQuick = absl::Minutes(1);

absl::Status CheckOptions(const SandboxOptions& options) {
  absl::Status status = CheckUtf8("the language", options.language);
  status.Update(CheckUtf8("the profile", options.profile));
  for (const std::string& library : options.libraries) {
    status.Update(CheckUtf8("a library", library));
  }
  for (const auto& [name, value] : options.labels) {
    status.Update(CheckUtf8("a label", name));
    status.Update(CheckUtf8("a label", value));
  }
  return status;
}

v1::CreateSessionRequest SessionRequestOf(const SandboxOptions& options) {
  v1::CreateSessionRequest request;
  request.set_language(options.language);
  request.set_profile(options.profile);
  for (const std::string& library : options.libraries) {
    request.add_libraries(library);
  }
  if (options.idle_timeout > absl::ZeroDuration()) {
    *request.mutable_idle_timeout() = ToProto(options.idle_timeout);
  }
  request.set_evictable(options.evictable);
  for (const auto& [name, value] : options.labels) {
    (*request.mutable_labels())[name] = value;
  }
  return request;
}

// A line such as "python: Python 3.11.2; in a sandbox variables stay from run
// to run".
std::string LanguageLine(const v1::LanguageInfo& language) {
  if (!language.available()) {
    return VisibleText(absl::StrCat(
        language.id(), ": not available: ", language.unavailable_reason()));
  }
  std::string line = absl::StrCat(language.id(), ": ", language.version());
  if (language.session() == v1::SESSION_SUPPORT_KERNEL) {
    line += "; in a sandbox variables stay from run to run";
  } else if (language.session() == v1::SESSION_SUPPORT_PROGRAM) {
    line += "; in a sandbox files stay, each run is a program";
  }
  return VisibleText(line);
}

std::string NetworkWords(const v1::ProfileInfo& profile) {
  constexpr int kShown = 20;
  if (profile.network() == "none") return "none";
  const auto& hosts = profile.network_hosts();
  const int shown = std::min(hosts.size(), kShown);
  std::string words = absl::StrCat(
      "only ", absl::StrJoin(hosts.begin(), hosts.begin() + shown, "; "));
  if (shown < hosts.size()) {
    absl::StrAppend(&words, "; and ", hosts.size() - shown, " more");
  }
  return VisibleText(words);
}

}  // namespace

Toolbox::Toolbox(const Daemon& daemon, ToolBounds bounds)
    : daemon_(daemon), bounds_(std::move(bounds)) {}

absl::StatusOr<std::string> Toolbox::CreateSandbox(
    const SandboxOptions& options, CallCancel& cancel) const {
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  const v1::CreateSessionRequest request = SessionRequestOf(options);
  grpc::Status status;
  std::string id;
  // A model isn't told of the wait, since there is nothing for it to do.
  PreparingWait wait([](const std::string&) {},
                     [&] { return cancel.cancelled(); });
  do {
    if (options.get_or_create) {
      v1::GetOrCreateSessionRequest wrapped;
      *wrapped.mutable_create() = request;
      v1::GetOrCreateSessionResponse response;
      status = MakeCancellableCall(
          *daemon_.sessions, &v1::SessionService::Stub::GetOrCreateSession,
          wrapped, response, cancel, kQuick);
      id = response.session().session_id();
    } else {
      v1::CreateSessionResponse response;
      status = MakeCancellableCall(*daemon_.sessions,
                                   &v1::SessionService::Stub::CreateSession,
                                   request, response, cancel, kQuick);
      id = response.session().session_id();
    }
  } while (wait.Again(status));
  if (status.ok()) return id;
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      CallErrorWords(status, daemon_, cancel));
}

ToolAnswer Toolbox::DeleteSandbox(const std::string& sandbox_id,
                                  CallCancel& cancel) const {
  if (const absl::Status status = CheckUtf8("the sandbox's id", sandbox_id);
      !status.ok()) {
    return BadArgument(status);
  }
  v1::DeleteSessionRequest request;
  request.set_session_id(sandbox_id);
  v1::DeleteSessionResponse response;
  const grpc::Status status = MakeCancellableCall(
      *daemon_.sessions, &v1::SessionService::Stub::DeleteSession, request,
      response, cancel, kQuick);
  if (!status.ok()) return CallErrorAnswer(status, daemon_, bounds_, cancel);
  ToolAnswer answer;
  answer.text = absl::StrCat("sandbox ", VisibleText(sandbox_id),
                             " is deleted, with its files");
  return answer;
}

ToolAnswer Toolbox::ListLanguages(CallCancel& cancel) const {
  v1::GetServerInfoResponse info;
  const grpc::Status status = MakeCancellableCall(
      *daemon_.stub, &v1::SandboxService::Stub::GetServerInfo,
      v1::GetServerInfoRequest(), info, cancel, absl::Seconds(10));
  if (!status.ok()) return CallErrorAnswer(status, daemon_, bounds_, cancel);
  AnswerText text(absl::StrCat(info.languages_size(), " languages"));
  std::string lines;
  for (const v1::LanguageInfo& language : info.languages()) {
    absl::StrAppend(&lines, LanguageLine(language), "\n");
  }
  text.Add("", lines);
  for (const v1::ProfileInfo& profile : info.profiles()) {
    if (profile.name() != "default") continue;
    text.AddNote(
        absl::StrCat("limits of a run: ", LimitsText(profile.limits())));
    text.AddNote(absl::StrCat("network: ", NetworkWords(profile)));
  }
  ToolAnswer answer;
  answer.text = text.Render(bounds_.text_bytes, "");
  return answer;
}

}  // namespace sandglass::client
