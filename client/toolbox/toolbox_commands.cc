#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/base/utf8_check.h"
#include "client/toolbox/command_run.h"
#include "client/toolbox/daemon_calls.h"
#include "client/toolbox/run_words.h"
#include "client/toolbox/toolbox.h"

namespace sandglass::client {
namespace {

// How long a command is watched after its start: most mistakes show up by then.
constexpr absl::Duration kFirstLook = absl::Milliseconds(300);
constexpr absl::Duration kLongestWait = absl::Minutes(10);
// How long a stop may take beyond the daemon's 5 s of grace.
constexpr absl::Duration kStopPatience = absl::Minutes(2);

absl::Status CheckCommandCall(const CommandCall& call) {
  absl::Status status = CheckUtf8("the sandbox's id", call.sandbox_id);
  status.Update(CheckUtf8("the command", call.command));
  status.Update(CheckUtf8("the directory", call.directory));
  if (call.command.empty()) {
    status.Update(absl::InvalidArgumentError("the command is empty"));
  }
  return status;
}

absl::Status CheckIds(const std::string& sandbox_id,
                      const std::string& command_id) {
  absl::Status status = CheckUtf8("the sandbox's id", sandbox_id);
  status.Update(CheckUtf8("the command's id", command_id));
  return status;
}

v1::ExecSpec SpecOf(const CommandCall& call) {
  v1::ExecSpec spec;
  spec.set_session_id(call.sandbox_id);
  spec.set_command(call.command);
  spec.set_directory(call.directory);
  return spec;
}

// A command's present state: whether it still runs, and its new output.
ToolAnswer SnapshotAnswer(const v1::ExecSnapshot& snapshot,
                          absl::string_view begun, const Daemon& daemon,
                          const ToolBounds& bounds,
                          const std::string& sandbox_id, CallCancel& cancel) {
  const v1::ExecInfo& exec = snapshot.exec();
  const std::string id = VisibleText(exec.exec_id());
  const bool ended = exec.has_end();
  const v1::RunCodeResponse run =
      ended ? RunOf(exec.end()) : v1::RunCodeResponse();
  ToolAnswer answer;
  answer.is_error = ended && run.outcome() != v1::OUTCOME_OK;
  AnswerText text(absl::StrCat("command ", id, ended ? ": " : begun,
                               ended ? VerdictWords(run) : ""));
  std::string output;
  for (const v1::ExecOutput& piece : snapshot.output()) output += piece.data();
  const uint64_t lost =
      snapshot.gap().stdout_bytes() + snapshot.gap().stderr_bytes();
  if (lost > 0) {
    // What is left of a character whose beginning was lost.
    while (!output.empty() && (output[0] & '\xc0') == '\x80') {
      output.erase(0, 1);
    }
    text.AddNote(absl::StrCat(lost, " bytes before this were no longer kept"));
  }
  text.Add("", output);
  if (text.empty()) text.AddNote("(no new output)");
  if (ended) AddNotes(run, text);
  if (!snapshot.complete()) {
    text.AddNote(absl::StrCat(ended ? "There is more output" : "It still runs",
                              ": read_output with command id ", id,
                              " and from ", snapshot.next_sequence(),
                              " goes on."));
  }
  answer.text = BoundedText(
      text, daemon, bounds, sandbox_id,
      absl::StrCat(exec.exec_id(), "-", snapshot.next_sequence()), cancel);
  return answer;
}

}  // namespace

ToolAnswer Toolbox::RunCommand(const CommandCall& call, CallCancel& cancel,
                               const ToolProgress& progress) const {
  if (const absl::Status status = CheckCommandCall(call); !status.ok()) {
    return BadArgument(status);
  }
  return CarryOutCommand(daemon_, bounds_, SpecOf(call), call.timeout, cancel,
                         progress);
}

ToolAnswer Toolbox::StartCommand(const CommandCall& call,
                                 CallCancel& cancel) const {
  if (const absl::Status status = CheckCommandCall(call); !status.ok()) {
    return BadArgument(status);
  }
  v1::StartExecRequest request;
  *request.mutable_spec() = SpecOf(call);
  request.mutable_spec()->set_background(true);
  request.mutable_spec()->set_merged_output(true);
  if (call.timeout > absl::ZeroDuration()) {
    *request.mutable_spec()->mutable_limits()->mutable_wall_time() =
        ToProto(call.timeout);
  }
  *request.mutable_wait() = ToProto(kFirstLook);
  v1::StartExecResponse response;
  const grpc::Status status =
      MakeCancellableCall(*daemon_.execs, &v1::ExecService::Stub::StartExec,
                          request, response, cancel, kToolPatience);
  if (!status.ok()) return CallErrorAnswer(status, daemon_, bounds_, cancel);
  return SnapshotAnswer(response.snapshot(), " has been started", daemon_,
                        bounds_, call.sandbox_id, cancel);
}

ToolAnswer Toolbox::ReadOutput(const std::string& sandbox_id,
                               const std::string& command_id, uint64_t from,
                               absl::Duration wait, CallCancel& cancel) const {
  if (const absl::Status status = CheckIds(sandbox_id, command_id);
      !status.ok()) {
    return BadArgument(status);
  }
  wait = std::clamp(wait, absl::ZeroDuration(), kLongestWait);
  v1::PollExecRequest request;
  request.set_session_id(sandbox_id);
  request.set_exec_id(command_id);
  request.set_from_sequence(from);
  request.set_any_output(true);
  if (wait > absl::ZeroDuration()) *request.mutable_wait() = ToProto(wait);
  v1::PollExecResponse response;
  const grpc::Status status =
      MakeCancellableCall(*daemon_.execs, &v1::ExecService::Stub::PollExec,
                          request, response, cancel, wait + kToolPatience);
  if (!status.ok()) return CallErrorAnswer(status, daemon_, bounds_, cancel);
  return SnapshotAnswer(response.snapshot(), " still runs", daemon_, bounds_,
                        sandbox_id, cancel);
}

ToolAnswer Toolbox::StopCommand(const std::string& sandbox_id,
                                const std::string& command_id,
                                CallCancel& cancel) const {
  if (const absl::Status status = CheckIds(sandbox_id, command_id);
      !status.ok()) {
    return BadArgument(status);
  }
  v1::StopExecRequest request;
  request.set_session_id(sandbox_id);
  request.set_exec_id(command_id);
  v1::StopExecResponse response;
  const grpc::Status status =
      MakeCancellableCall(*daemon_.execs, &v1::ExecService::Stub::StopExec,
                          request, response, cancel, kStopPatience);
  if (!status.ok()) return CallErrorAnswer(status, daemon_, bounds_, cancel);
  const v1::RunCodeResponse run = RunOf(response.exec().end());
  AnswerText text(absl::StrCat("command ", VisibleText(command_id),
                               " has ended: ", VerdictWords(run)));
  AddNotes(run, text);
  text.AddNote("read_output still has its output.");
  ToolAnswer answer;
  answer.text = text.Render(bounds_.text_bytes, "");
  return answer;
}

}  // namespace sandglass::client
