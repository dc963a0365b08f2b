#include "client/session/session_put_command.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/terminal_filter.h"
#include "client/base/unique_fd.h"
#include "client/base/utf8_check.h"
#include "client/connection/daemon.h"
#include "client/connection/error_text.h"
#include "client/session/remote_files.h"
#include "client/session/remote_paths.h"
#include "client/session/session_calls.h"
#include "client/terminal/interrupt_watcher.h"
#include "client/terminal/terminal_look.h"

namespace sandglass::client {
namespace {

// Files up to this size go many at a time.
constexpr off_t kSmallUploadBytes = 256 * 1024;

// The path that the user names may be a link to a directory; those below it may
// not.
struct Directory {
  std::string local;
  std::string remote;
  bool is_named = false;
  uint32_t mode = 0;
};

absl::StatusOr<std::vector<std::string>> SortedNames(const Directory& of) {
  UniqueFd fd(open(of.local.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC |
                                         (of.is_named ? 0 : O_NOFOLLOW)));
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(
      fd.valid() ? fdopendir(fd.get()) : nullptr, &closedir);
  if (entries == nullptr) return absl::ErrnoToStatus(errno, "cannot list it");
  fd.Release();
  std::vector<std::string> names;
  // Only we use this stream.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = readdir(entries.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Copies from here to one session. A failure with one file is reported, and the
// others continue; one that ends the session or the connection ends everything.
class Upload {
 public:
  Upload(const Daemon& daemon, const std::string& session_id,
         InterruptWatcher& interrupts)
      : remote_(daemon, session_id, interrupts) {}

  int Run(const SessionPutOptions& options) {
    const bool slash = absl::EndsWith(options.remote, "/");
    v1::FileInfo info;
    const grpc::Status status = remote_.Stat(options.remote, info);
    if (!status.ok() && ErrorReason(status) != "FILE_NOT_FOUND") {
      waiting_.End();
      return remote_.Explain({absl::OkStatus(), status}, options.remote);
    }
    const bool into =
        slash || (status.ok() && info.type() == v1::FILE_TYPE_DIRECTORY);
    if (!into && options.local.size() > 1) {
      return Fail(absl::InvalidArgumentError(absl::StrCat(
          VisibleText(options.remote),
          " is no directory of the session; several files need one (end it "
          "with / to have it made)")));
    }
    for (const std::string& local : options.local) {
      if (!over_) Put(local, options.remote, into);
    }
    if (!over_) Flush();
    return code_;
  }

 private:
  // `into` says that `remote` is a directory into which to put it.
  void Put(const std::string& local, const std::string& remote, bool into) {
    const std::string name = local == "-" ? "" : LastName(local);
    if (local == "-") {
      if (into) {
        return Trouble(local, absl::InvalidArgumentError(
                                  "say which file of the session standard "
                                  "input becomes"));
      }
      return Settle(remote_.Write(remote, STDIN_FILENO, -1), local);
    }
    const std::string target =
        into && !name.empty() ? JoinPath(remote, name) : remote;
    const absl::Status checked = CheckUtf8("the name", target);
    if (!checked.ok()) return Trouble(local, checked);
    struct stat info = {};
    if (stat(local.c_str(), &info) != 0) {
      return Trouble(local, absl::ErrnoToStatus(errno, "cannot look at it"));
    }
    if (!S_ISDIR(info.st_mode)) return PutFile(local, target, 0);
    pending_.push_back({local, target, true, info.st_mode});
    while (!pending_.empty() && !over_) {
      const Directory next = std::move(pending_.back());
      pending_.pop_back();
      PutDirectory(next);
    }
  }

  void PutDirectory(const Directory& directory) {
    const grpc::Status made =
        remote_.MakeDirectory(directory.remote, (directory.mode & 0777) | 0700);
    if (!made.ok()) return Settle({absl::OkStatus(), made}, directory.local);
    absl::StatusOr<std::vector<std::string>> names = SortedNames(directory);
    if (!names.ok()) return Trouble(directory.local, names.status());
    for (const std::string& name : *names) {
      if (!over_) PutEntry(directory, name);
    }
  }

  void PutEntry(const Directory& directory, const std::string& name) {
    const std::string local = JoinPath(directory.local, name);
    const std::string target = JoinPath(directory.remote, name);
    const absl::Status checked = CheckUtf8("the name", name);
    struct stat info = {};
    if (!checked.ok()) return Trouble(local, checked);
    if (lstat(local.c_str(), &info) != 0) {
      return Trouble(local, absl::ErrnoToStatus(errno, "cannot look at it"));
    }
    if (S_ISDIR(info.st_mode)) {
      pending_.push_back({local, target, false, info.st_mode});
    } else if (S_ISREG(info.st_mode)) {
      PutFile(local, target, O_NOFOLLOW);
    } else {
      waiting_.End();
      WriteAll(STDERR_FILENO,
               absl::StrCat("sandglass: left out ", VisibleText(local),
                            S_ISLNK(info.st_mode) ? ": a symbolic link\n"
                                                  : ": no regular file\n"));
    }
  }

  void PutFile(const std::string& local, const std::string& target, int flags) {
    waiting_.Say(absl::StrCat("copying ", VisibleText(local)));
    UniqueFd fd(open(local.c_str(), O_RDONLY | O_CLOEXEC | flags));
    struct stat info = {};
    if (!fd.valid() || fstat(fd.get(), &info) != 0) {
      return Trouble(local, absl::ErrnoToStatus(errno, "cannot open it"));
    }
    const uint32_t mode = info.st_mode & 0777;
    if (!S_ISREG(info.st_mode)) {
      return Settle(remote_.Write(target, fd.get(), -1), local);
    }
    if (info.st_size > kSmallUploadBytes) {
      return Settle(remote_.Write(target, fd.get(), static_cast<int>(mode)),
                    local);
    }
    v1::FileUpload& file = *batch_.add_files();
    file.set_path(target);
    file.set_mode(mode);
    const absl::Status read = ReadSmall(fd.get(), *file.mutable_content());
    if (!read.ok()) {
      batch_.mutable_files()->RemoveLast();
      return Trouble(local, read);
    }
    locals_.push_back(local);
    batch_bytes_ += file.content().size();
    if (batch_bytes_ >= kBatchBytes || batch_.files_size() >= kBatchFiles) {
      Flush();
    }
  }

  static absl::Status ReadSmall(int fd, std::string& content) {
    std::vector<char> buffer(kSmallUploadBytes);
    for (;;) {
      const ssize_t got = read(fd, buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return absl::ErrnoToStatus(errno, "cannot read it");
      if (got == 0) return absl::OkStatus();
      content.append(buffer.data(), static_cast<size_t>(got));
      if (content.size() > kBatchBytes) {
        return absl::AbortedError("it grows while it is read");
      }
    }
  }

  // Sends the files that were collected so far.
  void Flush() {
    if (batch_.files_size() == 0) return;
    v1::UploadFilesResponse response;
    const grpc::Status status = remote_.Upload(std::move(batch_), response);
    batch_.Clear();
    batch_bytes_ = 0;
    const std::vector<std::string> locals = std::exchange(locals_, {});
    if (!status.ok()) return Settle({absl::OkStatus(), status}, locals.front());
    for (int i = 0; i < response.files_size(); ++i) {
      const v1::UploadedFile& file = response.files(i);
      if (file.error() == v1::FILE_ERROR_CODE_UNSPECIFIED) continue;
      const size_t place = static_cast<size_t>(i);
      Trouble(place < locals.size() ? locals[place] : file.path(),
              absl::UnknownError(file.message()));
    }
  }

  void Trouble(const std::string& local, const absl::Status& status) {
    Settle({status, grpc::Status::OK}, local);
  }

  void Settle(const CopyEnd& end, const std::string& local) {
    if (!end.ok()) waiting_.End();
    const int code = remote_.Explain(end, local);
    if (code_ == kExitOk) code_ = code;
    if (code > kExitSignalBase || RemoteFiles::EndsAll(end)) over_ = true;
  }

  const RemoteFiles remote_;
  WaitLine waiting_{"copying"};
  std::vector<Directory> pending_;
  v1::UploadFilesRequest batch_;
  std::vector<std::string> locals_;  // of the files in the batch
  size_t batch_bytes_ = 0;
  int code_ = kExitOk;
  bool over_ = false;
};

}  // namespace

int SessionPutCommand(const Endpoint& endpoint,
                      const SessionPutOptions& options) {
  absl::Status checked = CheckId(options.session_id);
  checked.Update(CheckUtf8("REMOTE", options.remote));
  if (!checked.ok()) return Fail(checked);
  // ORDER: before the channel, whose threads inherit the signal mask.
  absl::StatusOr<std::unique_ptr<InterruptWatcher>> interrupts =
      InterruptWatcher::Start();
  if (!interrupts.ok()) return Fail(interrupts.status());
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  return Upload(*daemon, options.session_id, **interrupts).Run(options);
}

}  // namespace sandglass::client
