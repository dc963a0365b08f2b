#include "client/toolbox/daemon_calls.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/connection/error_text.h"
#include "client/toolbox/clean_text.h"
#include "client/toolbox/saved_output.h"
#include "sandglass/v1/files.pb.h"

namespace sandglass::client {
namespace {

constexpr size_t kPieceBytes = 256 << 10;

bool SandboxIsGone(absl::string_view reason) {
  return reason == "SESSION_NOT_FOUND" || reason == "SESSION_EXPIRED" ||
         reason == "SESSION_DELETED" || reason == "SESSION_EVICTED" ||
         reason == "SESSION_DIED";
}

// What a model should do about an error with this reason; empty when its
// message says so.
absl::string_view AdviceFor(absl::string_view reason) {
  static constexpr std::array<std::array<absl::string_view, 2>, 11> kAdvice = {
      {{"SESSION_WITHOUT_KERNEL", "name the code's language"},
       {"EXEC_NOT_FOUND", "start the command anew"},
       {"COMMANDS_DENIED", "run code instead"},
       {"TOO_MANY_SESSIONS",
        "all are in use, or others keep them: use a sandbox that you have, or "
        "tell the user, who can ask the operator"},
       {"FILE_NOT_FOUND", "list the directory to see what is there"},
       {"FILE_NO_MATCH",
        "nothing was changed; read the file and give the text exactly as it "
        "is there, blanks too"},
       {"FILE_MULTIPLE",
        "nothing was changed; give more of the text around it, or replace all"},
       {"FILE_IS_DIRECTORY", "it is a directory: list it"},
       {"FILE_NOT_DIRECTORY", "it is a file: read it"},
       {"APPROVAL_PENDING", "a person has not answered yet"},
       {"APPROVAL_DENIED", "don't try the same again; tell the user"}}};
  for (const auto& [name, advice] : kAdvice) {
    if (name == reason) return advice;
  }
  return "";
}

}  // namespace

std::string CallErrorWords(const grpc::Status& status, const Daemon& daemon,
                           const CallCancel& cancel) {
  if (cancel.cancelled()) {
    return "cancelled: the call was stopped, and what it ran with it";
  }
  if (IsConnectionLoss(status)) {
    return absl::StrCat(
        "no connection to the sandboxes' daemon at ",
        VisibleText(daemon.address), ": ", VisibleText(status.error_message()),
        "\nIt was stopped, or is being restarted. Tell the user that "
        "sandglassd has to run.");
  }
  std::string text = absl::StrCat(
      "the call failed: ",
      absl::StripPrefix(RpcErrorText(status, daemon.address, Advice::kNone),
                        "sandglass: "));
  const std::string reason = ErrorReason(status);
  if (SandboxIsGone(reason)) {
    absl::StrAppend(&text,
                    "There is no such sandbox any more; its files and "
                    "variables are gone.");
    return text;
  }
  return absl::StrCat(text, AdviceFor(reason));
}

ToolAnswer CallErrorAnswer(const grpc::Status& status, const Daemon& daemon,
                           const ToolBounds& bounds, const CallCancel& cancel) {
  ToolAnswer answer;
  answer.is_error = true;
  answer.text =
      CleanHead(CallErrorWords(status, daemon, cancel), bounds.text_bytes).text;
  answer.daemon_gone = !cancel.cancelled() && IsConnectionLoss(status);
  answer.sandbox_gone =
      !cancel.cancelled() && SandboxIsGone(ErrorReason(status));
  if (answer.sandbox_gone) {
    absl::StrAppend(&answer.text, answer.text.empty() ? "" : " ",
                    bounds.another);
  }
  return answer;
}

ToolAnswer BadArgument(const absl::Status& status) {
  ToolAnswer answer;
  answer.is_error = true;
  answer.text = absl::StrCat("bad argument: ", status.message());
  return answer;
}

grpc::Status WriteWhole(const Daemon& daemon, const std::string& sandbox_id,
                        const std::string& path, absl::string_view content,
                        CallCancel& cancel) {
  grpc::ClientContext context;
  SetDeadline(context, kToolPatience);
  const CallCancel::Scope scope(cancel, context);
  v1::WriteFileResponse response;
  const auto writer = daemon.files->WriteFile(&context, &response);
  v1::WriteFileRequest request;
  request.mutable_start()->set_session_id(sandbox_id);
  request.mutable_start()->set_path(path);
  request.mutable_start()->set_make_parents(true);
  bool open = writer->Write(request);
  do {
    const absl::string_view piece = content.substr(0, kPieceBytes);
    content.remove_prefix(piece.size());
    request.set_data(std::string(piece));
    request.set_finish(content.empty());
    open = open && writer->Write(request);
  } while (open && !content.empty());
  writer->WritesDone();
  return writer->Finish();
}

std::string BoundedText(const AnswerText& text, const Daemon& daemon,
                        const ToolBounds& bounds, const std::string& sandbox_id,
                        absl::string_view name, CallCancel& cancel) {
  if (text.Fits(bounds.text_bytes)) return text.Render(bounds.text_bytes, "");
  if (sandbox_id.empty()) {
    return text.Render(bounds.text_bytes,
                       "a run without a sandbox keeps no more: print less, or "
                       "run it in a sandbox, which keeps the whole in a file");
  }
  const std::string printed = text.Printed();
  const absl::StatusOr<std::string> path =
      SaveOutput(daemon, sandbox_id, name, printed, cancel);
  return text.Render(
      bounds.text_bytes,
      path.ok()
          ? absl::StrCat("the whole output (", FormatByteSize(printed.size()),
                         ") is in the file ", *path)
          : "the whole could not be saved in the sandbox: print less");
}

}  // namespace sandglass::client
