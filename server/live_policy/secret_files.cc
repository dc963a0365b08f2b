#include "server/live_policy/secret_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "policy/network/network.h"
#include "policy/text/names.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/status.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;

constexpr off_t kMaxBytes = off_t{8} << 10;
constexpr size_t kMaxSecrets = 100;

// Opens a file or directory. Does not follow `path` if it is a link, and does
// not wait if it is a pipe.
absl::StatusOr<os::Fd> OpenOwn(const std::string& path, int type) {
  os::Fd fd(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
    return absl::InvalidArgumentError(os::ErrnoStatus("open ", path).message());
  }
  if (static_cast<int>(info.st_mode & S_IFMT) != type) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is no ", type == S_IFDIR ? "directory" : "regular file"));
  }
  if ((info.st_uid != 0 && info.st_uid != ::geteuid()) ||
      (info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        path,
        " has to belong to root and be open to nobody else; chmod go= ", path));
  }
  return fd;
}

absl::StatusOr<os::Fd> OpenSecret(const std::string& path) {
  absl::StatusOr<os::Fd> file = OpenOwn(path, S_IFREG);
  if (!file.ok()) return file;
  struct stat info = {};
  if (::fstat(file->get(), &info) != 0) return os::ErrnoStatus("stat ", path);
  if (info.st_size > 0 && info.st_size <= kMaxBytes) return file;
  return absl::InvalidArgumentError(absl::StrCat(path, " has ", info.st_size,
                                                 " bytes; a secret takes 1 to ",
                                                 kMaxBytes, " in one line"));
}

}  // namespace

absl::StatusOr<std::map<std::string, os::Fd>> OpenSecrets(
    const std::string& directory) {
  std::map<std::string, os::Fd> secrets;
  if (directory.empty()) return secrets;
  if (absl::Status own = OpenOwn(directory, S_IFDIR).status(); !own.ok()) {
    return own;
  }
  std::error_code error;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (!policy::IsSecretName(name)) continue;
    absl::StatusOr<os::Fd> file = OpenSecret(entry.path().string());
    if (!file.ok()) return file.status();
    secrets.emplace(name, *std::move(file));
    if (secrets.size() > kMaxSecrets) {
      return absl::InvalidArgumentError(
          absl::StrCat(directory, " has more than ", kMaxSecrets, " secrets"));
    }
  }
  if (error) {
    return absl::InvalidArgumentError(
        absl::StrCat("list ", directory, ": ", error.message()));
  }
  return secrets;
}

absl::Status CheckSecrets(const PolicySet& policy,
                          const std::set<std::string>& names) {
  for (const policy::SharedProfile& profile : policy.profiles()) {
    if (profile->network == nullptr) continue;
    for (const policy::AllowedHost& host : profile->network->hosts) {
      for (const std::string& name : host.secrets) {
        if (names.count(name) > 0) continue;
        return absl::InvalidArgumentError(absl::StrCat(
            "profile ", profile->name, ": host \"", host.host.ToString(),
            "\" may be sent the secret ", name,
            ", which the daemon doesn't have; put it into a file of that name "
            "in the configuration's \"egress\": {\"secrets_dir\": …} and "
            "restart the daemon"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace sandglass::server
