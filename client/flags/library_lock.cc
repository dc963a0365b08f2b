#include "client/flags/library_lock.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/base/file_io.h"
#include "client/base/utf8_check.h"
#include "client/flags/flag_values.h"

namespace sandglass::client {
namespace {

constexpr char kFlag[] = "--library-lock";
constexpr size_t kMaxBytes = size_t{1} << 20;  // the daemon's bound

}  // namespace

CLI::Option* AddLibraryLock(CLI::App& app) {
  return AddValue(app, kFlag,
                  "A lock file with the versions and checksums of libraries: "
                  "requirements with hashes, package-lock.json, Gemfile.lock, "
                  "go.sum",
                  "FILE");
}

absl::StatusOr<std::string> ReadLibraryLock(const std::string& path) {
  absl::StatusOr<FileContent> content = ReadInput(path, kMaxBytes);
  if (!content.ok()) {
    return absl::Status(content.status().code(),
                        absl::StrCat(kFlag, ": ", content.status().message()));
  }
  if (content->bytes.empty()) {
    // The daemon would treat it as absent and install the newest versions.
    return absl::InvalidArgumentError(
        absl::StrCat(kFlag, ": the file is empty"));
  }
  absl::Status text = CheckUtf8(kFlag, content->bytes);
  if (!text.ok()) return text;
  return std::move(content->bytes);
}

}  // namespace sandglass::client
