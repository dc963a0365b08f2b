#include "client/agent/sandboxes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/connection/error_text.h"

namespace sandglass::client {
namespace {

// Below the daemon's limit for a message.
constexpr size_t kBatchBytes = 8 << 20;
constexpr int kBatchFiles = 1000;

absl::Status Failed(const grpc::Status& status, const std::string& address) {
  return absl::UnavailableError(RpcErrorText(status, address));
}

}  // namespace

absl::StatusOr<std::string> Sandboxes::Get(const std::string& name,
                                           CallCancel& cancel) {
  {
    const absl::MutexLock lock(&mutex_);
    const auto found = sessions_.find(name);
    if (found != sessions_.end()) return found->second;
  }
  SandboxOptions options;
  options.profile = plan_.profile;
  // Libraries are for a session's own language.
  if (!plan_.libraries.empty()) options.language = "python";
  options.libraries = plan_.libraries;
  options.labels = {{"made-by", "sandglass-agent"}, {"sandbox", name}};
  if (!plan_.thread.empty()) {
    options.labels["thread"] = plan_.thread;
    options.get_or_create = true;
  }
  absl::StatusOr<std::string> made = toolbox_.CreateSandbox(options, cancel);
  if (!made.ok()) return made;
  {
    const absl::MutexLock lock(&mutex_);
    sessions_[name] = *made;
  }
  absl::Status filled = Upload(*made, plan_.files, cancel);
  if (filled.ok()) filled = MakeDirectory(*made, cancel);
  if (!filled.ok()) return filled;
  return made;
}

absl::Status Sandboxes::MakeDirectory(const std::string& session_id,
                                      CallCancel& cancel) const {
  if (plan_.directory.empty()) return absl::OkStatus();
  v1::MakeDirectoryRequest request;
  request.set_session_id(session_id);
  request.set_path(plan_.directory);
  request.set_make_parents(true);
  v1::MakeDirectoryResponse response;
  const grpc::Status status =
      MakeCancellableCall(*daemon_.files, &v1::FileService::Stub::MakeDirectory,
                          request, response, cancel, absl::Minutes(1));
  return status.ok() ? absl::OkStatus() : Failed(status, daemon_.address);
}

void Sandboxes::Lost(const std::string& name, const std::string& session_id) {
  const absl::MutexLock lock(&mutex_);
  const auto found = sessions_.find(name);
  if (found != sessions_.end() && found->second == session_id) {
    sessions_.erase(found);
  }
}

absl::Status Sandboxes::Upload(const std::string& session_id,
                               const std::vector<LocalFile>& files,
                               CallCancel& cancel) const {
  for (size_t next = 0; next < files.size();) {
    v1::UploadFilesRequest request;
    request.set_session_id(session_id);
    for (size_t bytes = 0; next < files.size(); ++next) {
      const LocalFile& file = files[next];
      if (request.files_size() == kBatchFiles ||
          (bytes > 0 && bytes + file.content.size() > kBatchBytes)) {
        break;
      }
      bytes += file.content.size();
      v1::FileUpload& upload = *request.add_files();
      upload.set_path(file.path);
      upload.set_content(file.content);
      upload.set_mode(file.executable ? 0755 : 0644);
    }
    grpc::ClientContext context;
    const CallCancel::Scope scope(cancel, context);
    v1::UploadFilesResponse response;
    const grpc::Status status =
        daemon_.files->UploadFiles(&context, request, &response);
    if (!status.ok()) return Failed(status, daemon_.address);
    for (const v1::UploadedFile& file : response.files()) {
      if (file.error() == v1::FILE_ERROR_CODE_UNSPECIFIED) continue;
      return absl::UnavailableError(absl::StrCat("can't upload ",
                                                 VisibleText(file.path()), ": ",
                                                 VisibleText(file.message())));
    }
  }
  return absl::OkStatus();
}

std::map<std::string, std::string> Sandboxes::All() const {
  const absl::MutexLock lock(&mutex_);
  return sessions_;
}

void Sandboxes::End() {
  std::map<std::string, std::string> ended;
  {
    const absl::MutexLock lock(&mutex_);
    if (plan_.thread.empty()) ended = std::exchange(sessions_, {});
  }
  for (const auto& [name, session_id] : ended) {
    CallCancel never;
    toolbox_.DeleteSandbox(session_id, never);
  }
}

}  // namespace sandglass::client
