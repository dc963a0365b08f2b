#include "client/toolbox/saved_output.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/base/units.h"
#include "client/toolbox/daemon_calls.h"
#include "sandglass/v1/files.pb.h"

namespace sandglass::client {
namespace {

constexpr char kDirectory[] = "/workspace/.sandglass/outputs/";
constexpr uint64_t kMaxBytes = 16 << 20;

using Stub = v1::FileService::Stub;

std::string FileName(absl::string_view name) {
  std::string file;
  for (const char c : name) {
    const bool plain = absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                       c == '-' || c == '.';
    file += plain ? c : '_';
  }
  return absl::StrCat(file, ".txt");
}

// The files saved before, the oldest first; empty when they can't be listed.
std::vector<v1::FileInfo> Earlier(const Daemon& daemon,
                                  const std::string& sandbox_id,
                                  CallCancel& cancel) {
  constexpr int kMaxFiles = 10'000;
  v1::ListDirectoryRequest request;
  request.set_session_id(sandbox_id);
  request.set_path(kDirectory);
  request.set_page_size(kMaxFiles);
  v1::ListDirectoryResponse response;
  MakeCancellableCall(*daemon.files, &Stub::ListDirectory, request, response,
                      cancel, kToolPatience);
  std::vector<v1::FileInfo> files(response.entries().begin(),
                                  response.entries().end());
  std::stable_sort(files.begin(), files.end(),
                   [](const v1::FileInfo& a, const v1::FileInfo& b) {
                     return FromProto(a.modify_time()) <
                            FromProto(b.modify_time());
                   });
  return files;
}

// A file that can't be removed stays: in the end the disk's own limit applies.
void MakeRoom(const Daemon& daemon, const std::string& sandbox_id,
              uint64_t bytes, CallCancel& cancel) {
  const std::vector<v1::FileInfo> files = Earlier(daemon, sandbox_id, cancel);
  for (const v1::FileInfo& file : files) bytes += file.size();
  for (const v1::FileInfo& file : files) {
    if (bytes <= kMaxBytes) return;
    v1::RemoveFileRequest request;
    request.set_session_id(sandbox_id);
    request.set_path(absl::StrCat(kDirectory, file.path()));
    v1::RemoveFileResponse response;
    MakeCancellableCall(*daemon.files, &Stub::RemoveFile, request, response,
                        cancel, kToolPatience);
    bytes -= std::min(bytes, file.size());
  }
}

}  // namespace

absl::StatusOr<std::string> SaveOutput(const Daemon& daemon,
                                       const std::string& sandbox_id,
                                       absl::string_view name,
                                       absl::string_view output,
                                       CallCancel& cancel) {
  MakeRoom(daemon, sandbox_id, output.size(), cancel);
  const std::string path = absl::StrCat(kDirectory, FileName(name));
  const grpc::Status saved =
      WriteWhole(daemon, sandbox_id, path, output, cancel);
  if (saved.ok()) return path;
  return absl::Status(static_cast<absl::StatusCode>(saved.error_code()),
                      saved.error_message());
}

}  // namespace sandglass::client
