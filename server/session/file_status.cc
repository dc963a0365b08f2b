#include "server/session/file_status.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/wire/jail_layout.h"
#include "server/base/errors.h"
#include "server/base/proto_time.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

using sandbox::FileCode;

constexpr size_t kMaxPathBytes = 4096;
// The first and the last second that a Timestamp can have.
constexpr absl::Time kFirstTime = absl::FromUnixSeconds(-62'135'596'800);
constexpr absl::Time kLastTime = absl::FromUnixSeconds(253'402'300'799);
using sandbox::kWorkspace;

// The codes are converted by their numbers.
static_assert(v1::FileErrorCode_MAX == sandbox::kFileCodeCount - 1);
static_assert(v1::FILE_ERROR_CODE_INVALID_PATH ==
              static_cast<int>(FileCode::kInvalidPath));
static_assert(v1::FILE_ERROR_CODE_MULTIPLE ==
              static_cast<int>(FileCode::kMultiple));
static_assert(v1::FILE_ERROR_CODE_TIMED_OUT ==
              static_cast<int>(FileCode::kTimedOut));

v1::FileType ToProto(sandbox::FileType type) {
  switch (type) {
    case sandbox::FileType::kRegular:
      return v1::FILE_TYPE_REGULAR;
    case sandbox::FileType::kDirectory:
      return v1::FILE_TYPE_DIRECTORY;
    case sandbox::FileType::kSymlink:
      return v1::FILE_TYPE_SYMLINK;
    case sandbox::FileType::kOther:
      break;
  }
  return v1::FILE_TYPE_OTHER;
}

// Whether it is a path outside of the places where programs may write.
bool IsElsewhere(absl::string_view path) {
  const auto below = [path](absl::string_view place) {
    return path == place || absl::StartsWith(path, absl::StrCat(place, "/"));
  };
  return absl::StartsWith(path, "/") && !below(kWorkspace) && !below("/tmp") &&
         !below(sandbox::kHome);
}

}  // namespace

absl::StatusOr<std::string> AgentPath(const std::string& path,
                                      EmptyPath empty) {
  if (path.empty() && empty == EmptyPath::kWorkspace) return kWorkspace;
  const sandbox::FileResult invalid = {FileCode::kInvalidPath, 0};
  if (path.empty()) return FileStatus(invalid, "an empty path");
  if (path.find('\0') != std::string::npos) {
    return FileStatus(invalid, "a path with a NUL");
  }
  std::string whole =
      path[0] == '/' ? path : absl::StrCat(kWorkspace, "/", path);
  if (whole.size() > kMaxPathBytes) {
    return FileStatus(invalid,
                      absl::StrCat("a path of ", whole.size(),
                                   " bytes; the most is ", kMaxPathBytes));
  }
  return whole;
}

v1::FileErrorCode ToProto(FileCode code) {
  return static_cast<v1::FileErrorCode>(code);
}

std::string FileReason(FileCode code) {
  return absl::StrCat("FILE_",
                      code == FileCode::kNotFound
                          ? "NOT_FOUND"
                          : absl::AsciiStrToUpper(sandbox::FileCodeName(code)));
}

absl::Status FileStatus(sandbox::FileResult result, absl::string_view path) {
  const absl::Status status =
      sandbox::StatusOfFile(result, AsUtf8(StdView(path)));
  std::string text(status.message());
  if (result.error == EROFS ||
      (result.code == FileCode::kPermissionDenied && IsElsewhere(path))) {
    absl::StrAppend(&text, "; programs may write below ", kWorkspace,
                    ", /tmp and ", sandbox::kHome);
  }
  return FileFailed(result.code == FileCode::kIncomplete
                        ? absl::StatusCode::kInvalidArgument
                        : status.code(),
                    FileReason(result.code), text);
}

v1::FileInfo ToProto(const sandbox::FileFacts& facts) {
  v1::FileInfo info;
  info.set_path(AsUtf8(facts.name));
  if (info.path() != facts.name) info.set_raw_path(facts.name);
  info.set_type(ToProto(facts.type));
  info.set_size(facts.size);
  info.set_mode(facts.mode & 07777);
  // A Timestamp only covers the years 1 to 9999; the times of files go further.
  *info.mutable_modify_time() =
      ToProto(std::clamp(facts.mtime, kFirstTime, kLastTime));
  info.set_link_target(AsUtf8(facts.link_target));
  return info;
}

v1::FileInfo ToProto(sandbox::FileFacts facts, const std::string& path) {
  facts.name = path;
  return ToProto(facts);
}

}  // namespace sandglass::server
