#include "server/phases/compile_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "sandbox/os/io.h"
#include "server/base/random_id.h"
#include "server/base/state_dir.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr size_t kKeyDigits = 64;
constexpr char kUnfinished[] = ".unfinished-";
constexpr time_t kUnfinishedSeconds = 3600;

absl::Status Failure(absl::string_view what, absl::string_view path) {
  return absl::InternalError(
      absl::StrCat("can't ", what, " ", path, ": ", ErrorText(errno)));
}

// Returns why a file can't be one of ours; empty when it can.
std::string Objection(const struct stat& info, uint64_t max_bytes) {
  if (!S_ISREG(info.st_mode)) return "it is no regular file";
  if (info.st_uid != ::geteuid()) {
    return absl::StrCat("it belongs to uid ", info.st_uid);
  }
  if ((info.st_mode & 07177) != 0) return "others may read or write it";
  // No name at all is fine: the file was just evicted or replaced, and its
  // content is as good as before.
  if (info.st_nlink > 1) return "it has a second name";
  if (static_cast<uint64_t>(info.st_size) > max_bytes) return "it is too large";
  return "";
}

}  // namespace

absl::StatusOr<CompileStore> CompileStore::Open(const std::string& directory,
                                                uid_t owner, gid_t group) {
  absl::StatusOr<os::Fd> fd = AdoptDirectory(directory, owner, group, 0700);
  if (!fd.ok()) return fd.status();
  return CompileStore(directory, *std::move(fd));
}

absl::StatusOr<std::string> CompileStore::Read(const std::string& key,
                                               uint64_t max_bytes) const {
  // O_NONBLOCK keeps a FIFO from holding us up.
  const os::Fd file(
      ::openat(directory_.get(), key.c_str(),
               O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.valid()) {
    if (errno == ENOENT) return absl::NotFoundError("not there");
    if (errno == ELOOP) return absl::DataLossError("it is a symbolic link");
    if (errno == EACCES || errno == ENXIO) {
      return absl::DataLossError("it is none of this server's files");
    }
    return absl::UnavailableError(ErrorText(errno));
  }
  struct stat info = {};
  if (::fstat(file.get(), &info) != 0) {
    return absl::UnavailableError(ErrorText(errno));
  }
  if (std::string objection = Objection(info, max_bytes); !objection.empty()) {
    return absl::DataLossError(objection);
  }
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  size_t read = 0;
  while (read < bytes.size()) {
    const ssize_t size =
        ::read(file.get(), bytes.data() + read, bytes.size() - read);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return absl::UnavailableError(ErrorText(errno));
    if (size == 0) break;
    read += static_cast<size_t>(size);
  }
  bytes.resize(read);
  return bytes;
}

absl::Status CompileStore::Write(const std::string& key,
                                 std::string_view bytes) const {
  const std::string name = RandomId(kUnfinished, 8);
  // The file has no name while it is written, so that a crash leaves nothing
  // behind. Some file systems, overlayfs among them, can't do that.
  os::Fd file(
      ::openat(directory_.get(), ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
  const bool nameless = file.valid();
  if (!nameless) {
    file.reset(::openat(directory_.get(), name.c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        0600));
  }
  if (!file.valid()) return Failure("make a file in", path_);
  // A link to /proc is the only way to give the file a name without a
  // capability: open(2), "O_TMPFILE".
  const std::string link = absl::StrCat("/proc/self/fd/", file.get());
  // The umask must not change the mode.
  if (::fchmod(file.get(), 0600) == 0 &&
      os::WriteAll(file.get(), AbslView(bytes)) &&
      (!nameless || ::linkat(AT_FDCWD, link.c_str(), directory_.get(),
                             name.c_str(), AT_SYMLINK_FOLLOW) == 0) &&
      ::renameat(directory_.get(), name.c_str(), directory_.get(),
                 key.c_str()) == 0) {
    return absl::OkStatus();
  }
  absl::Status failure = Failure("write to", path_);
  ::unlinkat(directory_.get(), name.c_str(), 0);
  return failure;
}

bool CompileStore::Remove(const std::string& key) const {
  return ::unlinkat(directory_.get(), key.c_str(), 0) == 0 || errno == ENOENT ||
         ::unlinkat(directory_.get(), key.c_str(), AT_REMOVEDIR) == 0;
}

void CompileStore::Touch(const std::string& key) const {
  ::utimensat(directory_.get(), key.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

std::vector<CompileStore::Found> CompileStore::List() const {
  std::vector<Found> found;
  const int copy =
      ::openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(
      copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
  if (directory == nullptr) return found;
  const time_t now = ::time(nullptr);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a stream of this call's own
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    struct stat info = {};
    const bool unfinished = absl::StartsWith(name, kUnfinished);
    const bool is_key = name.size() == kKeyDigits && IsLowerHex(name);
    if ((!unfinished && !is_key) ||
        ::fstatat(directory_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) !=
            0) {
      continue;
    }
    if (!unfinished) {
      found.push_back(
          {name, static_cast<uint64_t>(info.st_size), info.st_mtim});
    } else if (now - info.st_mtim.tv_sec > kUnfinishedSeconds) {
      ::unlinkat(directory_.get(), name.c_str(), 0);
    }
  }
  std::ranges::sort(found, {}, [](const Found& file) {
    return std::tie(file.used.tv_sec, file.used.tv_nsec, file.key);
  });
  return found;
}

}  // namespace sandglass::server
