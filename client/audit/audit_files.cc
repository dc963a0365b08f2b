#include "client/audit/audit_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/terminal_filter.h"
#include "client/base/unique_fd.h"
#include "policy/audit/audit_chain.h"

namespace sandglass::client {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = 256 * 1024;

using Numbered = std::vector<std::pair<uint64_t, std::string>>;

std::vector<std::string> InOrder(Numbered files) {
  std::stable_sort(
      files.begin(), files.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> paths;
  for (auto& [number, path] : files) paths.push_back(std::move(path));
  return paths;
}

absl::Status CannotRead(const std::string& path, int error) {
  return absl::ErrnoToStatus(
      error, absl::StrCat("cannot read '", VisibleText(path), "'"));
}

absl::StatusOr<std::vector<std::string>> FilesIn(const std::string& directory) {
  Numbered files;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (const auto number = policy::ParseAuditFileName(name)) {
      files.emplace_back(*number, entry->path().string());
    }
  }
  if (error) return CannotRead(directory, error.value());
  return InOrder(std::move(files));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> AuditFilesOf(
    const std::vector<std::string>& paths) {
  Numbered files;
  bool all_named = true;
  for (const std::string& path : paths) {
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0) return CannotRead(path, errno);
    if (S_ISDIR(info.st_mode)) {
      if (paths.size() == 1) return FilesIn(path);
      return absl::InvalidArgumentError(
          absl::StrCat("'", VisibleText(path),
                       "' is a directory: give one directory, or files"));
    }
    const auto number =
        policy::ParseAuditFileName(path.substr(path.rfind('/') + 1));
    all_named = all_named && number.has_value();
    files.emplace_back(number.value_or(0), path);
  }
  if (all_named) return InOrder(std::move(files));
  return paths;
}

absl::Status ReadAuditFiles(const std::vector<std::string>& files,
                            policy::AuditVerifier& verifier) {
  std::string piece(kPieceBytes, '\0');
  for (const std::string& path : files) {
    // Opening must not wait for a writer in case it is a FIFO.
    const UniqueFd fd(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat info = {};
    if (!fd.valid() || fstat(fd.get(), &info) != 0) {
      return CannotRead(path, errno);
    }
    if (!S_ISREG(info.st_mode)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", VisibleText(path), "' is no regular file"));
    }
    verifier.BeginFile(path);
    for (;;) {
      const ssize_t got = read(fd.get(), piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return CannotRead(path, errno);
      if (got == 0) break;
      verifier.Add(absl::string_view(piece.data(), static_cast<size_t>(got)));
    }
    verifier.EndFile();
  }
  return absl::OkStatus();
}

}  // namespace sandglass::client
