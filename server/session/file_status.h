#ifndef SANDGLASS_SERVER_SESSION_FILE_STATUS_H_
#define SANDGLASS_SERVER_SESSION_FILE_STATUS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandbox/files/file_types.h"
#include "sandglass/v1/files.pb.h"

namespace sandglass::server {

// Translates between the API's words for files and those of the file agent.

// Messages are kept smaller than what clients accept by default (4 MiB).
inline constexpr uint64_t kMaxListedBytes = uint64_t{3} << 20;

// Returns the absolute path that the agent needs. INVALID_ARGUMENT,
// "FILE_INVALID_PATH". `empty` says whether an empty path stands for
// /workspace.
enum class EmptyPath { kInvalid, kWorkspace };
absl::StatusOr<std::string> AgentPath(const std::string& path,
                                      EmptyPath empty = EmptyPath::kInvalid);

v1::FileErrorCode ToProto(sandbox::FileCode code);
// Returns "FILE_NOT_FOUND" and so on.
std::string FileReason(sandbox::FileCode code);
// The gRPC error of a failed operation on `path`.
absl::Status FileStatus(sandbox::FileResult result, absl::string_view path);

v1::FileInfo ToProto(const sandbox::FileFacts& facts);
// The facts of the file at `path`.
v1::FileInfo ToProto(sandbox::FileFacts facts, const std::string& path);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_FILE_STATUS_H_
