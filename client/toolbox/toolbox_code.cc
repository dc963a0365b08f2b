#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/base/units.h"
#include "client/base/utf8_check.h"
#include "client/connection/error_text.h"
#include "client/connection/preparing_wait.h"
#include "client/toolbox/daemon_calls.h"
#include "client/toolbox/run_words.h"
#include "client/toolbox/toolbox.h"

namespace sandglass::client {
namespace {

// What is known about a run at the end of its call.
struct RunEnd {
  grpc::Status status;
  std::optional<v1::RunCodeResponse> run;
  OutputCapture out;
  OutputCapture err;
};

absl::Status CheckCodeCall(const CodeCall& call) {
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

v1::RunCodeRequest RunRequestOf(const CodeCall& call) {
  v1::RunCodeRequest request;
  request.set_language(call.language);
  request.set_code(call.code);
  request.set_approval_id(call.approval_id);
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
  // In Python what it displays and the last value, as a notebook has them. Of
  // other languages whole programs run, which have no such results.
  const std::string language = absl::AsciiStrToLower(call.language);
  request.set_rich_results(language == "python" || language == "python3" ||
                           language == "py");
  // The jail is gone afterwards, so figures have to be fetched now.
  for (const char* ending : {"png", "jpg", "jpeg", "gif"}) {
    request.add_fetch(absl::StrCat("**/*.", ending));
    if (request.rich_results()) {
      request.add_fetch(absl::StrCat("/tmp/**/*.", ending));
    }
  }
  return request;
}

void HandleEvent(v1::StreamRunCodeResponse& event, const ToolProgress& progress,
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

RunEnd Stream(const Daemon& daemon, const CodeCall& call, CallCancel& cancel,
              const ToolProgress& progress) {
  RunEnd end;
  grpc::ClientContext context;
  // Without a timeout of the call the profile's limit applies, and Cancel ends
  // the rest.
  if (call.timeout > absl::ZeroDuration()) {
    SetDeadline(context, call.timeout + kToolPatience);
  }
  const CallCancel::Scope scope(cancel, context);
  v1::StreamRunCodeRequest request;
  *request.mutable_run() = RunRequestOf(call);
  const auto reader = daemon.stub->StreamRunCode(&context, request);
  v1::StreamRunCodeResponse event;
  while (reader->Read(&event)) HandleEvent(event, progress, end);
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
                    const ToolBounds& bounds, CallCancel& cancel) {
  const v1::RunCodeResponse& run = *end.run;
  ToolAnswer answer;
  answer.is_error = run.outcome() != v1::OUTCOME_OK;
  if (run.has_approval()) answer.approval_id = run.approval().approval_id();
  AnswerText text(VerdictWords(run));
  // A compiler's output is only included if it is the answer.
  if (run.has_compile() && run.compile().outcome() != v1::OUTCOME_OK) {
    text.Add("compiler", absl::StrCat(run.compile().stdout().data(),
                                      run.compile().stderr().data()));
  }
  text.AddTold("", std::move(end.out));
  text.AddTold("stderr", std::move(end.err));
  AddResults(run, bounds, text, answer.images);
  AddFiles(run, bounds, text, answer.images);
  const bool ran = run.outcome() != v1::OUTCOME_NEEDS_APPROVAL &&
                   run.outcome() != v1::OUTCOME_DENIED;
  if (text.empty() && ran) text.AddNote("(no output)");
  AddNotes(run, text);
  if (!call.sandbox_id.empty() && LacksLibrary(run)) {
    text.AddNote(bounds.missing_library);
  }
  answer.untold = text.RenderUntold(bounds.text_bytes);
  answer.text =
      BoundedText(text, daemon, bounds, call.sandbox_id, run.run_id(), cancel);
  return answer;
}

}  // namespace

ToolAnswer Toolbox::RunCode(const CodeCall& call, CallCancel& cancel,
                            const ToolProgress& progress) const {
  if (const absl::Status status = CheckCodeCall(call); !status.ok()) {
    return BadArgument(status);
  }
  PreparingWait wait(
      [&](const std::string& line) {
        if (progress) progress(absl::StrCat(line, "\n"));
      },
      [&] { return cancel.cancelled(); });
  RunEnd end;
  do {
    end = Stream(daemon_, call, cancel, progress);
  } while (wait.Again(end.status));
  if (end.run) {
    return AnswerOf(std::move(end), call, daemon_, bounds_, cancel);
  }
  ToolAnswer answer = CallErrorAnswer(end.status, daemon_, bounds_, cancel);
  if (ErrorReason(end.status) == "APPROVAL_PENDING") {
    answer.approval_id = call.approval_id;
  }
  return answer;
}

ToolAnswer Toolbox::RestartKernel(const std::string& sandbox_id,
                                  const std::string& language,
                                  CallCancel& cancel) const {
  v1::RestartKernelRequest request;
  request.set_session_id(sandbox_id);
  request.set_context(language.empty() ? "" : absl::StrCat("@", language));
  v1::RestartKernelResponse response;
  const grpc::Status status = MakeCancellableCall(
      *daemon_.sessions, &v1::SessionService::Stub::RestartKernel, request,
      response, cancel, kToolPatience);
  if (!status.ok()) return CallErrorAnswer(status, daemon_, bounds_, cancel);
  ToolAnswer answer;
  answer.text = "It begins anew with the next call.";
  return answer;
}

}  // namespace sandglass::client
