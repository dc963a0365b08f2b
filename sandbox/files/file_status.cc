// What the results of a file agent are outside of its rooms.
#include "absl/strings/str_cat.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/os/status.h"

namespace sandglass::sandbox {
namespace {

absl::StatusCode CodeOf(FileCode code) {
  switch (code) {
    case FileCode::kOk:
      return absl::StatusCode::kOk;
    case FileCode::kNotFound:
    case FileCode::kNoMatch:
      return absl::StatusCode::kNotFound;
    case FileCode::kPermissionDenied:
      return absl::StatusCode::kPermissionDenied;
    case FileCode::kInvalidPath:
    case FileCode::kInvalidPattern:
    case FileCode::kBadArchive:
    case FileCode::kBadRequest:
      return absl::StatusCode::kInvalidArgument;
    case FileCode::kExists:
      return absl::StatusCode::kAlreadyExists;
    case FileCode::kNoSpace:
    case FileCode::kTooLarge:
    case FileCode::kBusy:
      return absl::StatusCode::kResourceExhausted;
    case FileCode::kBusyChanged:
      return absl::StatusCode::kAborted;
    case FileCode::kCancelled:
      return absl::StatusCode::kCancelled;
    case FileCode::kTimedOut:
      return absl::StatusCode::kDeadlineExceeded;
    case FileCode::kAgentGone:
    case FileCode::kAgentBroken:
      return absl::StatusCode::kUnavailable;
    case FileCode::kFailed:
    case FileCode::kIncomplete:
      return absl::StatusCode::kUnknown;
    default:
      return absl::StatusCode::kFailedPrecondition;
  }
}

}  // namespace

absl::Status StatusOfFile(FileResult result, absl::string_view what) {
  if (result.ok()) return absl::OkStatus();
  std::string text = absl::StrCat(FileCodeName(result.code), ": ", what);
  if (result.error != 0) {
    absl::StrAppend(&text, " (", os::ErrorText(result.error), ")");
  }
  if (result.code == FileCode::kBusyChanged) {
    text += "; it changed or is being written: read it again, then repeat";
  }
  return absl::Status(CodeOf(result.code), text);
}

}  // namespace sandglass::sandbox
