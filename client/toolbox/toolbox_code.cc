#include <array>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/error_text.h"
#include "client/toolbox/command_run.h"
#include "client/toolbox/daemon_calls.h"
#include "client/toolbox/run_words.h"
#include "client/toolbox/toolbox.h"
#include "client/units.h"
#include "client/utf8_check.h"

namespace sandglass::client {
namespace {

// What a run left, as far as the call came.
struct RunEnd {
  grpc::Status status;
  std::optional<v1::RunCodeResponse> run;
  OutputCapture out;
  OutputCapture err;
};

absl::Status CheckCall(const CodeCall& call) {
  absl::Status status = CheckUtf8("the code", call.code);
  status.Update(CheckUtf8("the language", call.language));
  status.Update(CheckUtf8("the sandbox's id", call.sandbox_id));
  status.Update(CheckUtf8("the profile", call.profile));
  status.Update(CheckUtf8("the approval's id", call.approval_id));
  for (const std::string& library : call.libraries) {
    status.Update(CheckUtf8("a library", library));
  }
  return status;
}

// `limits` may be null.
v1::RunCodeRequest RequestOf(const CodeCall& call, const v1::Limits* limits) {
  v1::RunCodeRequest request;
  request.set_language(call.language);
  request.set_code(call.code);
  request.set_approval_id(call.approval_id);
  if (limits != nullptr) *request.mutable_limits() = *limits;
  if (call.timeout > absl::ZeroDuration()) {
    *request.mutable_limits()->mutable_wall_time() = ToProto(call.timeout);
  }
  if (!call.sandbox_id.empty()) {
    request.set_session_id(call.sandbox_id);
    return request;
  }
  request.set_profile(call.profile);
  for (const std::string& library : call.libraries) {
    request.add_libraries(library);
  }
  // Nobody can look for the figures of a jail that is gone.
  for (const char* pattern : {"*.png", "*.jpg", "*.jpeg", "*.gif"}) {
    request.add_fetch(pattern);
  }
  return request;
}

void Take(v1::StreamRunCodeResponse& event, const ToolProgress& progress,
          RunEnd& end) {
  if (event.has_chunk()) {
    const v1::OutputChunk& chunk = event.chunk();
    (chunk.stream() == v1::OUTPUT_STREAM_STDERR ? end.err : end.out)
        .Add(chunk.data());
    if (progress) progress(chunk.data());
  } else if (event.has_library_progress() && progress) {
    progress(absl::StrCat(event.library_progress().line(), "\n"));
  } else if (event.has_result()) {
    end.run = std::move(*event.mutable_result());
  }
}

RunEnd Stream(const Daemon& daemon, const CodeCall& call,
              const v1::Limits* limits, ToolCancel& cancel,
              const ToolProgress& progress) {
  RunEnd end;
  grpc::ClientContext context;
  // Without a time of its own the profile's holds, and Cancel ends the rest.
  if (call.timeout > absl::ZeroDuration()) {
    SetDeadline(context, call.timeout + kToolPatience);
  }
  const ToolCancel::Scope scope(cancel, context);
  v1::StreamRunCodeRequest request;
  *request.mutable_run() = RequestOf(call, limits);
  const auto reader = daemon.stub->StreamRunCode(&context, request);
  v1::StreamRunCodeResponse event;
  while (reader->Read(&event)) Take(event, progress, end);
  end.status = reader->Finish();
  return end;
}

bool LacksLibrary(const v1::RunCodeResponse& run) {
  for (const v1::Hint& hint : run.hints()) {
    if (hint.id() == "missing-library") return true;
  }
  return false;
}

ToolAnswer AnswerOf(RunEnd end, const CodeCall& call, const Daemon& daemon,
                    const ToolBounds& bounds, absl::string_view note,
                    ToolCancel& cancel) {
  const v1::RunCodeResponse& run = *end.run;
  ToolAnswer answer;
  answer.is_error = run.outcome() != v1::OUTCOME_OK;
  if (run.has_approval()) answer.approval_id = run.approval().approval_id();
  AnswerText text(VerdictWords(run));
  // A compiler's words belong there only when they are the answer.
  if (run.has_compile() && run.compile().outcome() != v1::OUTCOME_OK) {
    text.Add("compiler", absl::StrCat(run.compile().stdout().data(),
                                      run.compile().stderr().data()));
  }
  text.Add("", std::move(end.out));
  text.Add("stderr", std::move(end.err));
  AddResults(run, bounds, text, answer.images);
  AddFiles(run, bounds, text, answer.images);
  const bool ran = run.outcome() != v1::OUTCOME_NEEDS_APPROVAL &&
                   run.outcome() != v1::OUTCOME_DENIED;
  if (text.empty() && ran) text.Note("(no output)");
  AddNotes(run, text);
  if (!call.sandbox_id.empty() && LacksLibrary(run)) {
    text.Note(
        "A sandbox has the libraries that it was made with: make another with "
        "create_sandbox that has this one, too.");
  }
  if (!note.empty()) text.Note(std::string(note));
  answer.text =
      BoundedText(text, daemon, bounds, call.sandbox_id, run.run_id(), cancel);
  return answer;
}

// The sandbox doesn't run this language itself, or nobody does.
bool IsOfOtherLanguage(const grpc::Status& status) {
  if (ErrorReason(status) == "SESSION_WITHOUT_KERNEL") return true;
  for (const std::string& field : ViolatedFields(status)) {
    if (field == "run.language") return true;
  }
  return false;
}

// What is to be known for code that a sandbox doesn't run itself.
struct Elsewhere {
  grpc::Status status;
  std::string language;  // its id, whatever alias named it
  v1::Session session;
  bool commands = false;  // the sandbox's profile lets them be started
};

Elsewhere AskElsewhere(const Daemon& daemon, const CodeCall& call,
                       ToolCancel& cancel) {
  constexpr absl::Duration kQuick = absl::Seconds(10);
  Elsewhere elsewhere;
  v1::GetSessionRequest request;
  request.set_session_id(call.sandbox_id);
  v1::GetSessionResponse response;
  elsewhere.status =
      CallTool(*daemon.sessions, &v1::SessionService::Stub::GetSession, request,
               response, cancel, kQuick);
  if (!elsewhere.status.ok()) return elsewhere;
  elsewhere.session = std::move(*response.mutable_session());
  v1::GetServerInfoResponse info;
  elsewhere.status =
      CallTool(*daemon.stub, &v1::SandboxService::Stub::GetServerInfo,
               v1::GetServerInfoRequest(), info, cancel, kQuick);
  elsewhere.language = call.language;
  for (const v1::LanguageInfo& language : info.languages()) {
    for (const std::string& alias : language.aliases()) {
      if (alias == call.language) elsewhere.language = language.id();
    }
  }
  for (const v1::ProfileInfo& profile : info.profiles()) {
    if (profile.name() == elsewhere.session.profile()) {
      elsewhere.commands = profile.commands() != "deny";
    }
  }
  return elsewhere;
}

// How an interpreter takes a program from its standard input; none for others.
std::optional<std::array<std::string, 2>> InterpreterOf(
    absl::string_view language) {
  if (language == "python") return {{"python3", "-"}};
  if (language == "bash") return {{"bash", "-s"}};
  if (language == "javascript") return {{"node", "-"}};
  if (language == "ruby") return {{"ruby", "-"}};
  if (language == "perl") return {{"perl", "-"}};
  return std::nullopt;
}

ToolAnswer Conclude(RunEnd end, const CodeCall& call, const Daemon& daemon,
                    const ToolBounds& bounds, absl::string_view note,
                    ToolCancel& cancel) {
  if (end.run) {
    return AnswerOf(std::move(end), call, daemon, bounds, note, cancel);
  }
  ToolAnswer answer = CallErrorAnswer(end.status, daemon, bounds, cancel);
  if (ErrorReason(end.status) == "APPROVAL_PENDING") {
    answer.approval_id = call.approval_id;
  }
  return answer;
}

// Runs code of another language than the sandbox's: by an interpreter there, or
// in a jail with the sandbox's profile and limits, which hold for all that is
// run for it.
ToolAnswer RunElsewhere(const Daemon& daemon, const ToolBounds& bounds,
                        const CodeCall& call, ToolCancel& cancel,
                        const ToolProgress& progress) {
  Elsewhere elsewhere = AskElsewhere(daemon, call, cancel);
  if (!elsewhere.status.ok()) {
    return CallErrorAnswer(elsewhere.status, daemon, bounds, cancel);
  }
  const auto interpreter = InterpreterOf(elsewhere.language);
  if (interpreter && elsewhere.commands) {
    v1::ExecSpec spec;
    spec.set_session_id(call.sandbox_id);
    for (const std::string& word : *interpreter) spec.add_argv(word);
    spec.set_stdin(call.code);
    return CarryOutCommand(daemon, bounds, std::move(spec), call.timeout,
                           cancel, progress);
  }
  CodeCall beside = call;
  beside.sandbox_id.clear();
  beside.profile = elsewhere.session.profile();
  return Conclude(
      Stream(daemon, beside, &elsewhere.session.limits(), cancel, progress),
      beside, daemon, bounds,
      absl::StrCat("it ran beside the sandbox, without its files: the sandbox "
                   "itself runs no ",
                   call.language),
      cancel);
}

}  // namespace

ToolAnswer Toolbox::RunCode(const CodeCall& call, ToolCancel& cancel,
                            const ToolProgress& progress) const {
  if (const absl::Status status = CheckCall(call); !status.ok()) {
    return BadArgument(status);
  }
  RunEnd end = Stream(daemon_, call, nullptr, cancel, progress);
  if (!call.sandbox_id.empty() && !call.language.empty() &&
      IsOfOtherLanguage(end.status)) {
    return RunElsewhere(daemon_, bounds_, call, cancel, progress);
  }
  return Conclude(std::move(end), call, daemon_, bounds_, "", cancel);
}

}  // namespace sandglass::client
