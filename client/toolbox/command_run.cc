#include "client/toolbox/command_run.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "client/base/units.h"
#include "client/connection/error_text.h"
#include "client/toolbox/answer_text.h"
#include "client/toolbox/daemon_calls.h"
#include "client/toolbox/run_words.h"

namespace sandglass::client {
namespace {

ToolAnswer NotRun(const grpc::Status& status, const Daemon& daemon,
                  const ToolBounds& bounds, const CallCancel& cancel) {
  ToolAnswer answer = CallErrorAnswer(status, daemon, bounds, cancel);
  for (const std::string& field : ViolatedFields(status)) {
    if (!absl::EndsWith(field, ".wall_time")) continue;
    answer.text += bounds.long_command;
  }
  return answer;
}

}  // namespace

ToolAnswer CarryOutCommand(const Daemon& daemon, const ToolBounds& bounds,
                           v1::ExecSpec spec, absl::Duration timeout,
                           CallCancel& cancel, const ToolProgress& progress) {
  const std::string sandbox_id = spec.session_id();
  grpc::ClientContext context;
  spec.set_merged_output(true);
  if (timeout > absl::ZeroDuration()) {
    *spec.mutable_limits()->mutable_wall_time() = ToProto(timeout);
    SetDeadline(context, timeout + kToolPatience);
  }
  OutputCapture output;
  std::optional<v1::ExecEnd> end;
  std::string exec_id;
  grpc::Status status;
  {
    // Doesn't cover the saving of the output, which is a call of its own.
    const CallCancel::Scope scope(cancel, context);
    const auto stream = daemon.execs->Execute(&context);
    v1::ExecuteRequest first;
    *first.mutable_start()->mutable_spec() = std::move(spec);
    stream->Write(first);
    stream->WritesDone();
    v1::ExecuteResponse event;
    while (stream->Read(&event)) {
      if (event.has_started()) exec_id = event.started().exec().exec_id();
      if (event.has_output()) {
        output.Add(event.output().data());
        if (progress) progress(event.output().data());
      }
      if (event.has_end()) end = std::move(*event.mutable_end());
    }
    status = stream->Finish();
  }
  if (!end) return NotRun(status, daemon, bounds, cancel);
  const v1::RunCodeResponse run = RunOf(*end);
  ToolAnswer answer;
  answer.is_error = run.outcome() != v1::OUTCOME_OK;
  AnswerText text(VerdictWords(run));
  text.AddTold("", std::move(output));
  if (text.empty()) text.AddNote("(no output)");
  AddNotes(run, text);
  answer.untold = text.RenderUntold(bounds.text_bytes);
  answer.text = BoundedText(text, daemon, bounds, sandbox_id, exec_id, cancel);
  return answer;
}

}  // namespace sandglass::client
