#include "client/fetch_writer.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/file_io.h"
#include "client/terminal_filter.h"

namespace sandglass::client {
namespace {

constexpr size_t kMaxPathBytes = 4095;
constexpr mode_t kModeMask = 0755;

absl::string_view ErrorWords(v1::FileError error) {
  switch (error) {
    case v1::FILE_ERROR_NOT_FOUND:
      return "the program left no such file";
    case v1::FILE_ERROR_PERMISSION_DENIED:
      return "the program's own rights do not let it be read";
    case v1::FILE_ERROR_IS_DIRECTORY:
      return "it is a directory; fetch what is in it with '/**'";
    case v1::FILE_ERROR_NOT_REGULAR:
      return "it is not a regular file";
    case v1::FILE_ERROR_TOO_LARGE:
      return "it is too large for the answer";
    case v1::FILE_ERROR_UNAVAILABLE:
      return "the jail was gone before it could be read";
    default:
      return "the daemon could not read it";
  }
}

// Opens the directory `name` in `parent`, making it when it is missing.
// O_NOFOLLOW on each single component, of which none is "..", keeps the walk
// below its start.
absl::StatusOr<UniqueFd> EnterDirectory(int parent, const std::string& name) {
  if (mkdirat(parent, name.c_str(), 0777) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot make '", name, "'"));
  }
  UniqueFd fd(openat(parent, name.c_str(),
                     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) {
    // A symbolic link gives ENOTDIR here (O_DIRECTORY with O_NOFOLLOW).
    return absl::ErrnoToStatus(
        errno, absl::StrCat("'", name, "' is not a directory to write in",
                            " (links are not followed)"));
  }
  return fd;
}

absl::Status CheckTarget(int directory, const std::string& name,
                         FetchWriter::Existing existing) {
  struct stat info = {};
  if (fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return absl::ErrnoToStatus(errno,
                               absl::StrCat("cannot look at '", name, "'"));
  }
  if (S_ISREG(info.st_mode)) {
    if (existing == FetchWriter::Existing::kReplace) return absl::OkStatus();
    return absl::AlreadyExistsError(
        "it is there already; to replace it name its directory with "
        "--fetch-dir");
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "'", name, "' is there already and is ",
      S_ISLNK(info.st_mode) ? "a symbolic link" : "not a regular file",
      "; remove it or choose another --fetch-dir"));
}

// Puts a file at its place in one step: a new file is written beside it and
// renamed over it. The rename replaces a link that someone plants meanwhile,
// and never follows it.
absl::Status PlaceFile(int directory, const std::string& name,
                       const v1::OutputFile& file,
                       FetchWriter::Existing existing) {
  absl::Status checked = CheckTarget(directory, name, existing);
  if (!checked.ok()) return checked;
  const std::string temporary =
      absl::StrCat(".sandglass-fetch-", getpid(), ".tmp");
  UniqueFd fd(openat(directory, temporary.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     0600));
  if (!fd.valid()) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot make '", temporary, "' beside it"));
  }
  absl::Cleanup remove = [&] { unlinkat(directory, temporary.c_str(), 0); };
  const int error = WriteAll(fd.get(), file.content());
  if (error != 0) return absl::ErrnoToStatus(error, "cannot write it");
  // umask(2) can only be read by setting it; one thread does this at a time.
  const mode_t mask = umask(0);
  umask(mask);
  const mode_t wanted = file.mode() == 0 ? 0644 : file.mode();
  // The owner can always read and replace what it fetched.
  const mode_t mode = ((wanted & kModeMask) | 0600) & ~mask;
  if (fchmod(fd.get(), mode) != 0) {
    return absl::ErrnoToStatus(errno, "cannot set its mode");
  }
  if (renameat(directory, temporary.c_str(), directory, name.c_str()) != 0) {
    return absl::ErrnoToStatus(errno, "cannot put it in place");
  }
  std::move(remove).Cancel();
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFetchPath(absl::string_view path) {
  const auto refuse = [](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("unsafe path: ", why));
  };
  if (path.empty()) return refuse("it is empty");
  if (path.size() > kMaxPathBytes) return refuse("it is too long");
  if (path.front() == '/') return refuse("it is absolute");
  if (!IsPlainText(path)) {
    return refuse("it has a control character or is not UTF-8");
  }
  for (const absl::string_view part : absl::StrSplit(path, '/')) {
    if (part.empty()) return refuse("it has an empty component");
    if (part == "." || part == "..") return refuse("it has '.' or '..'");
  }
  return absl::OkStatus();
}

absl::StatusOr<FetchWriter> FetchWriter::Open(const std::string& directory,
                                              Existing existing) {
  if (mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot make the --fetch-dir '", directory, "'"));
  }
  // The directory itself is the user's word: links in it are followed.
  UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    return absl::ErrnoToStatus(
        errno, absl::StrCat("cannot open the --fetch-dir '", directory, "'"));
  }
  return FetchWriter(std::move(fd), existing);
}

absl::Status FetchWriter::Write(const v1::OutputFile& file) const {
  if (file.error() != v1::FILE_ERROR_UNSPECIFIED) {
    return absl::FailedPreconditionError(ErrorWords(file.error()));
  }
  absl::Status checked = CheckFetchPath(file.path());
  if (!checked.ok()) return checked;
  std::vector<std::string> parts = absl::StrSplit(file.path(), '/');
  const std::string name = parts.back();
  parts.pop_back();
  UniqueFd held;
  int directory = directory_.get();
  for (const std::string& part : parts) {
    absl::StatusOr<UniqueFd> next = EnterDirectory(directory, part);
    if (!next.ok()) return next.status();
    held = *std::move(next);
    directory = held.get();
  }
  return PlaceFile(directory, name, file, existing_);
}

}  // namespace sandglass::client
