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

// Between the API's words for files and the file agent's.

// Messages are kept below what clients take by default (4 MiB).
inline constexpr uint64_t kMostListedBytes = uint64_t{3} << 20;

// The path as the agent takes it: absolute. INVALID_ARGUMENT,
// "FILE_INVALID_PATH". `empty` says whether an empty one stands for /workspace.
enum class EmptyPath { kInvalid, kWorkspace };
absl::StatusOr<std::string> AgentPath(const std::string& path,
                                      EmptyPath empty = EmptyPath::kInvalid);

v1::FileErrorCode ToProto(sandbox::FileCode code);
// "FILE_NOT_FOUND" and so on.
std::string FileReason(sandbox::FileCode code);
// The gRPC error of a failed operation on `path`.
absl::Status FileStatus(sandbox::FileResult result, absl::string_view path);

v1::FileInfo ToProto(const sandbox::FileFacts& facts);
// The facts of the file at `path`.
v1::FileInfo ToProto(sandbox::FileFacts facts, const std::string& path);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_FILE_STATUS_H_
