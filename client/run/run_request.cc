#include "client/run/run_request.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/base/utf8_check.h"
#include "client/connection/connect.h"
#include "client/flags/library_lock.h"

namespace sandglass::client {
namespace {

void SetLimits(const RunOptions& options, v1::RunCodeRequest& request) {
  // An empty Limits message isn't sent, because it requests nothing.
  const v1::Limits limits = ToProto(options.limits);
  if (limits.ByteSizeLong() > 0) *request.mutable_limits() = limits;
  if (options.compile_timeout) {
    *request.mutable_compile_limits()->mutable_wall_time() =
        ToProto(*options.compile_timeout);
  }
  if (options.compile_memory_bytes) {
    request.mutable_compile_limits()->set_memory_bytes(
        *options.compile_memory_bytes);
  }
}

absl::Status CheckStrings(const v1::RunCodeRequest& request) {
  absl::Status status = CheckUtf8("the program", request.code());
  status.Update(CheckUtf8("--lang", request.language()));
  status.Update(CheckUtf8("--profile", request.profile()));
  status.Update(CheckUtf8("--request-id", request.request_id()));
  status.Update(CheckUtf8("--approval", request.approval_id()));
  for (const std::string& arg : request.args()) {
    status.Update(CheckUtf8("an argument of the program", arg));
  }
  for (const std::string& glob : request.fetch()) {
    status.Update(CheckUtf8("--fetch", glob));
  }
  status.Update(CheckUtf8("--env", request.env()));
  status.Update(CheckUtf8("--label", request.labels()));
  status.Update(CheckUtf8("the session's id", request.session_id()));
  status.Update(CheckUtf8("--context", request.context()));
  for (const v1::InputFile& file : request.files()) {
    if (FindInvalidUtf8(file.path()) == absl::string_view::npos) continue;
    status.Update(absl::InvalidArgumentError(
        absl::StrCat("--file '", VisibleText(file.path()),
                     "': names in the jail are UTF-8; write REMOTE=LOCAL")));
  }
  return status;
}

}  // namespace

v1::Limits ToProto(const LimitOptions& options) {
  v1::Limits limits;
  if (options.timeout) {
    *limits.mutable_wall_time() = ToProto(*options.timeout);
  }
  if (options.cpu_time) {
    *limits.mutable_cpu_time() = ToProto(*options.cpu_time);
  }
  if (options.memory_bytes) limits.set_memory_bytes(*options.memory_bytes);
  if (options.max_processes) limits.set_max_processes(*options.max_processes);
  return limits;
}

absl::StatusOr<v1::RunCodeRequest> BuildRunRequest(const RunOptions& options) {
  v1::RunCodeRequest request;
  request.set_language(options.language);
  request.set_profile(options.profile);
  request.set_request_id(options.request_id);
  request.set_approval_id(options.approval_id);
  if (options.batch) request.set_priority(v1::RUN_PRIORITY_BATCH);
  if (absl::Status set = SetLibraries(options.libraries, options.library_lock,
                                      "--library", request);
      !set.ok()) {
    return set;
  }
  request.set_session_id(options.session_id);
  request.set_context(options.context);
  request.set_rich_results(options.rich);
  if (options.code) {
    request.set_code(*options.code);
  } else {
    absl::StatusOr<FileContent> program =
        ReadInput(*options.file, kMaxMessageBytes);
    if (!program.ok()) return program.status();
    request.set_code(std::move(program->bytes));
  }
  if (options.stdin_file) {
    absl::StatusOr<FileContent> input =
        ReadInput(*options.stdin_file, kMaxMessageBytes);
    if (!input.ok()) return input.status();
    request.set_stdin(std::move(input->bytes));
  }
  for (const auto& [remote, local] : options.files) {
    absl::StatusOr<FileContent> content = ReadInput(local, kMaxMessageBytes);
    if (!content.ok()) return content.status();
    v1::InputFile& file = *request.add_files();
    file.set_path(remote);
    file.set_content(std::move(content->bytes));
    file.set_executable(content->executable);
  }
  for (const std::string& arg : options.args) request.add_args(arg);
  for (const std::string& glob : options.fetch) request.add_fetch(glob);
  for (const auto& [name, value] : options.env) {
    (*request.mutable_env())[name] = value;
  }
  for (const auto& [name, value] : options.labels) {
    (*request.mutable_labels())[name] = value;
  }
  SetLimits(options, request);

  absl::Status checked = CheckStrings(request);
  if (!checked.ok()) return checked;
  const size_t size = request.ByteSizeLong();
  if (size > kMaxMessageBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the program and its files come to ", FormatByteSize(size),
        "; a request takes at most ", FormatByteSize(kMaxMessageBytes)));
  }
  return request;
}

}  // namespace sandglass::client
