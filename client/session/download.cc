#include "client/session/download.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/base/file_io.h"
#include "client/base/local_files.h"
#include "client/base/terminal_filter.h"
#include "client/run/fetch_writer.h"
#include "client/session/remote_paths.h"

namespace sandglass::client {
namespace {

// More than any session's disk has. The bounds keep code that lies about its
// files from filling our memory and disk with names.
constexpr uint64_t kMaxEntries = 2'000'000;
constexpr size_t kMaxPending = 100'000;

// Files up to this size go many at a time.
constexpr uint64_t kSmallDownloadBytes = 64 * 1024;

bool IsDirectory(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

absl::StatusOr<UniqueFd> OpenDirectory(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) {
    return absl::ErrnoToStatus(
        errno,
        absl::StrCat("cannot open the directory '", VisibleText(path), "'"));
  }
  return fd;
}

absl::StatusOr<UniqueFd> MakeDirectory(const std::string& path, uint32_t mode) {
  if (mkdir(path.c_str(), mode) != 0 && errno != EEXIST) {
    return absl::ErrnoToStatus(
        errno,
        absl::StrCat("cannot make the directory '", VisibleText(path), "'"));
  }
  return OpenDirectory(path);
}

}  // namespace

absl::StatusOr<UniqueFd> OpenParent(const std::string& path,
                                    std::string& name) {
  name = LastName(path);
  if (name.empty() || absl::EndsWith(path, "/")) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", VisibleText(path), "' is no file's name"));
  }
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return OpenDirectory(".");
  return OpenDirectory(path.substr(0, slash + 1));
}

int Download::Run(const std::string& path, const std::string& local) {
  v1::FileInfo info;
  const grpc::Status status = remote_.Stat(path, info);
  if (!status.ok()) {
    waiting_.End();
    return remote_.Explain({absl::OkStatus(), status}, path);
  }
  const bool into = absl::EndsWith(local, "/") || IsDirectory(local);
  const std::string last = LastName(path);
  if (info.type() != v1::FILE_TYPE_DIRECTORY) {
    std::string name = last;
    absl::StatusOr<UniqueFd> parent =
        into ? MakeDirectory(local, 0777) : OpenParent(local, name);
    if (!parent.ok()) return Fail(parent.status());
    GetFile(path, parent->get(), name);
    return code_;
  }
  const uint32_t mode = LocalMode(info.mode(), 0700);
  const bool below = into && !last.empty();
  absl::StatusOr<UniqueFd> top = MakeDirectory(local, below ? 0777 : mode);
  if (top.ok() && below) top = EnterDirectory(top->get(), last, mode);
  if (!top.ok()) return Fail(top.status());
  top_ = *std::move(top);
  pending_.push_back({"", mode});
  while (!pending_.empty() && !over_) {
    const Directory next = std::move(pending_.back());
    pending_.pop_back();
    GetDirectory(path, next);
  }
  return code_;
}

// Walks to the directory from the top, so that only one descriptor is open,
// however deep it is.
absl::StatusOr<UniqueFd> Download::Enter(const Directory& directory) const {
  absl::StatusOr<UniqueFd> held =
      UniqueFd(fcntl(top_.get(), F_DUPFD_CLOEXEC, 0));
  for (const absl::string_view part :
       absl::StrSplit(directory.relative, '/', absl::SkipEmpty())) {
    absl::StatusOr<UniqueFd> next =
        EnterDirectory(held->get(), std::string(part), directory.mode);
    if (!next.ok()) return next.status();
    held = std::move(next);
  }
  return held;
}

void Download::GetDirectory(const std::string& root, const Directory& asked) {
  const std::string& relative = asked.relative;
  const std::string path = relative.empty() ? root : JoinPath(root, relative);
  absl::StatusOr<UniqueFd> directory = Enter(asked);
  if (!directory.ok()) return Trouble(path, directory.status());
  v1::ListDirectoryResponse page;
  do {
    const grpc::Status status = remote_.List(path, page);
    if (!status.ok()) return Settle({absl::OkStatus(), status}, path);
    for (const v1::FileInfo& entry : page.entries()) {
      if (over_) return;
      if (++entries_ > kMaxEntries) {
        over_ = true;
        return Trouble(path, absl::ResourceExhaustedError(absl::StrCat(
                                 "more than ", kMaxEntries, " files")));
      }
      GetEntry(entry, root, relative, directory->get());
    }
    GetBatch(directory->get());
  } while (!page.next_page_token().empty());
}

void Download::GetEntry(const v1::FileInfo& entry, const std::string& root,
                        const std::string& relative, int directory) {
  const std::string below = JoinPath(relative, entry.path());
  const std::string path = JoinPath(root, below);
  absl::Status safe = CheckFetchPath(entry.path());
  if (safe.ok() && absl::StrContains(entry.path(), '/')) {
    safe = absl::InvalidArgumentError("unsafe path: it has a slash");
  }
  if (safe.ok() && !entry.raw_path().empty()) {
    safe = absl::InvalidArgumentError("its name is not UTF-8");
  }
  if (!safe.ok()) return Trouble(path, safe);
  switch (entry.type()) {
    case v1::FILE_TYPE_DIRECTORY:
      if (pending_.size() < kMaxPending) {
        return pending_.push_back({below, LocalMode(entry.mode(), 0700)});
      }
      return Trouble(path, absl::ResourceExhaustedError(
                               "too many directories to go through"));
    case v1::FILE_TYPE_REGULAR:
      if (entry.size() > kSmallDownloadBytes) {
        return GetFile(path, directory, entry.path());
      }
      batch_.add_paths(path);
      batch_bytes_ += entry.size();
      if (batch_bytes_ >= kBatchBytes || batch_.paths_size() >= kBatchFiles) {
        GetBatch(directory);
      }
      return;
    default:
      waiting_.End();
      WriteAll(STDERR_FILENO,
               absl::StrCat("sandglass: left out ", VisibleText(path),
                            entry.type() == v1::FILE_TYPE_SYMLINK
                                ? ": a symbolic link\n"
                                : ": no regular file\n"));
  }
}

void Download::GetFile(const std::string& path, int directory,
                       const std::string& name) {
  waiting_.Say(absl::StrCat("copying ", VisibleText(path)));
  absl::StatusOr<NewFile> file =
      NewFile::Create(directory, name, ExistingFile::kReplace);
  if (!file.ok()) return Trouble(path, file.status());
  v1::FileInfo info;
  CopyEnd end = remote_.Read(
      path, [&](absl::string_view data) { return file->Write(data); }, info);
  if (end.ok()) end.local = file->Place(info.mode());
  Settle(end, path);
}

void Download::GetBatch(int directory) {
  if (batch_.paths_size() == 0 || over_) return;
  const v1::DownloadFilesRequest asked = std::exchange(batch_, {});
  batch_bytes_ = 0;
  v1::DownloadFilesResponse response;
  const grpc::Status status = remote_.Download(asked, response);
  if (!status.ok()) {
    return Settle({absl::OkStatus(), status}, asked.paths(0));
  }
  for (int i = 0; i < asked.paths_size() && !over_; ++i) {
    if (i < response.files_size()) {
      PlaceSmall(response.files(i), asked.paths(i), directory);
    } else {
      Trouble(asked.paths(i), absl::InternalError("the daemon left it out"));
    }
  }
}

void Download::PlaceSmall(const v1::DownloadedFile& got,
                          const std::string& path, int directory) {
  const std::string name = LastName(path);
  // The file has grown since it was listed.
  if (got.error() == v1::FILE_ERROR_CODE_TOO_LARGE) {
    return GetFile(path, directory, name);
  }
  if (got.error() != v1::FILE_ERROR_CODE_UNSPECIFIED) {
    return Trouble(path, absl::UnknownError(got.message()));
  }
  absl::StatusOr<NewFile> file =
      NewFile::Create(directory, name, ExistingFile::kReplace);
  if (!file.ok()) return Trouble(path, file.status());
  absl::Status written = file->Write(got.content());
  if (written.ok()) written = file->Place(got.info().mode());
  if (!written.ok()) Trouble(path, written);
}

void Download::Trouble(const std::string& path, const absl::Status& status) {
  Settle({status, grpc::Status::OK}, path);
}

void Download::Settle(const CopyEnd& end, const std::string& path) {
  if (!end.ok()) waiting_.End();
  const int code = remote_.Explain(end, path);
  if (code_ == kExitOk) code_ = code;
  if (code > kExitSignalBase || RemoteFiles::EndsAll(end)) over_ = true;
}

}  // namespace sandglass::client
