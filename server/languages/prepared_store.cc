#include "server/languages/prepared_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "policy/text/paths.h"
#include "sandbox/os/files.h"
#include "sandbox/os/open_beneath.h"
#include "server/base/digest.h"
#include "server/base/state_dir.h"
#include "server/base/strings.h"
#include "server/images/image_files.h"
#include "server/images/package_list.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;

constexpr char kComplete[] = ".complete";
constexpr char kUnfinished[] = ".unfinished";
constexpr auto kUnusedFor = std::chrono::hours(24 * 30);
constexpr absl::Duration kLockPoll = absl::Milliseconds(50);
constexpr size_t kDigestDigits = 16;
constexpr char kInstalledPackages[] = "/var/lib/dpkg/status";

absl::Status Failure(absl::string_view what, absl::string_view path) {
  const int error = errno;
  const bool full = error == ENOSPC || error == EDQUOT;
  return absl::InternalError(absl::StrCat(
      "can't ", what, " ", path, ": ", ErrorText(error),
      full ? "; make room there and restart the daemon, or name another "
             "place by --cache-dir"
           : ""));
}

// The file that a name stands for in an image now, and its state.
std::string FileIdentity(const std::string& root, const std::string& path) {
  const std::optional<std::string> real = RealPathInImage(root, path);
  struct stat info = {};
  if (!real || ::stat((root + *real).c_str(), &info) != 0) return "absent";
  return absl::StrCat(*real, " ", info.st_size, " ", info.st_mtim.tv_sec, ".",
                      info.st_mtim.tv_nsec);
}

absl::Status MakeParents(const os::Fd& directory, const std::string& top,
                         const std::string& path) {
  for (size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    if (::mkdirat(directory.get(), parent.c_str(), 0755) != 0 &&
        errno != EEXIST) {
      return Failure("make the directory", absl::StrCat(top, "/", parent));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PreparedStore> PreparedStore::Open(const std::string& directory,
                                                  uid_t owner, gid_t group) {
  // What is in this directory is run in every jail.
  const absl::StatusOr<os::Fd> fd =
      AdoptDirectory(directory, owner, group, 0755);
  if (!fd.ok()) return fd.status();
  return PreparedStore(directory);
}

bool PreparedStore::Has(const std::string& name) const {
  const std::string mark = absl::StrCat(directory_, "/", name, "/", kComplete);
  // The mark's modification time is that of the last use.
  return ::utimensat(AT_FDCWD, mark.c_str(), nullptr, AT_SYMLINK_NOFOLLOW) == 0;
}

absl::StatusOr<PreparedStore::Draft> PreparedStore::Begin(
    const std::string& name, CancelToken& cancel) const {
  Draft draft;
  draft.path_ = absl::StrCat(directory_, "/", name);
  const std::string& path = draft.path_;
  const std::string lock = absl::StrCat(path, ".lock");
  draft.lock_.reset(
      ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!draft.lock_.valid()) return Failure("open", lock);
  while (::flock(draft.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Failure("lock", lock);
    if (cancel.reason().has_value()) return absl::CancelledError("cancelled");
    absl::SleepFor(kLockPoll);
  }
  if (Has(name)) return absl::AlreadyExistsError("prepared by another daemon");
  std::error_code error;
  fs::remove_all(path, error);
  if (error || ::mkdir(path.c_str(), 0755) != 0) {
    return Failure("make the directory", path);
  }
  draft.directory_.reset(
      ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!draft.directory_.valid()) return Failure("open", path);
  return draft;
}

absl::Status PreparedStore::Draft::Add(const std::string& path,
                                       const os::Fd& content) {
  absl::Status good = policy::ValidateRelativePath(path);
  if (good.ok()) good = MakeParents(directory_, path_, path);
  if (!good.ok()) return good;
  struct stat info = {};
  if (::fstatat(directory_.get(), path.c_str(), &info, AT_SYMLINK_NOFOLLOW) ==
      0) {
    return absl::AlreadyExistsError(
        absl::StrCat("two commands make ", path, "; name them apart"));
  }
  // Jails already see the directory, so a file must be there completely or not
  // at all.
  const os::Fd file = os::CreateBeneath(directory_, kUnfinished, 0644);
  if (!file.valid() || ::fstat(content.get(), &info) != 0) {
    return Failure("make", absl::StrCat(path_, "/", path));
  }
  off_t offset = 0;
  while (offset < info.st_size) {
    const ssize_t copied =
        ::sendfile(file.get(), content.get(), &offset,
                   static_cast<size_t>(info.st_size - offset));
    if (copied < 0 && errno == EINTR) continue;
    if (copied <= 0) return Failure("write", absl::StrCat(path_, "/", path));
  }
  if (::renameat(directory_.get(), kUnfinished, directory_.get(),
                 path.c_str()) != 0) {
    return Failure("make", absl::StrCat(path_, "/", path));
  }
  return absl::OkStatus();
}

absl::Status PreparedStore::Draft::Complete() {
  // ORDER: the files are synced before the mark is made, so that what is marked
  // complete is whole even after a crash of the machine.
  if (::syncfs(directory_.get()) != 0) return Failure("write", path_);
  if (!os::CreateBeneath(directory_, kComplete, 0644).valid()) {
    return Failure("make", absl::StrCat(path_, "/", kComplete));
  }
  return absl::OkStatus();
}

void PreparedStore::Remove(const std::string& name) const {
  std::error_code ignored;
  fs::remove_all(absl::StrCat(directory_, "/", name), ignored);
}

void PreparedStore::RemoveOld(const std::set<std::string>& names) const {
  std::error_code error;
  const auto now = fs::file_time_type::clock::now();
  for (const fs::directory_entry& entry :
       fs::directory_iterator(directory_, error)) {
    if (!entry.is_directory(error)) continue;
    if (names.count(entry.path().filename().string()) != 0) continue;
    auto used = fs::last_write_time(entry.path() / kComplete, error);
    if (error) used = fs::last_write_time(entry.path(), error);
    if (error || now - used < kUnusedFor) continue;
    fs::remove_all(entry.path(), error);
    fs::remove(entry.path().string() + ".lock", error);
  }
}

std::string PreparedName(const policy::Language& language) {
  Digest digest;
  const policy::Preparation& prepare = *language.prepare;
  const std::string& root = language.image_root;
  digest.AddPairs(prepare.files);
  digest.AddAll(prepare.artifacts);
  digest.AddPairs(prepare.env);
  std::vector<policy::Command> commands = prepare.commands;
  commands.push_back(language.run);
  if (language.compile) commands.push_back(language.compile->command);
  for (const policy::Command& command : commands) {
    digest.AddAll(command);
    digest.Add(FileIdentity(root, command.front()));
  }
  for (const std::string& path : language.needs) {
    digest.Add(FileIdentity(root, path));
  }
  digest.Add(
      PackageList(os::ReadWholeFile(root + kInstalledPackages).value_or("")));
  return absl::StrCat(language.id, "-", digest.Hex().substr(0, kDigestDigits));
}

}  // namespace sandglass::server
