#ifndef SANDGLASS_CLIENT_SESSION_DOWNLOAD_H_
#define SANDGLASS_CLIENT_SESSION_DOWNLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/base/exit_codes.h"
#include "client/base/unique_fd.h"
#include "client/session/remote_files.h"
#include "client/terminal/terminal_look.h"

namespace sandglass::client {

// Copies from one session to here. The session's code chose the names in its
// directories, so they count as hostile: nothing is written outside of the
// directory that the user named, or through a symbolic link. A failure with one
// file is reported, and the others continue.
class Download {
 public:
  // Borrows `remote`.
  explicit Download(const RemoteFiles& remote) : remote_(remote) {}

  // Copies a file or a directory to `local`, or into it if that is a directory.
  // Returns the exit code.
  int Run(const std::string& path, const std::string& local);

 private:
  // A directory that is still to be copied, relative to the top, and the local
  // permission bits for it if it has to be made.
  struct Directory {
    std::string relative;
    uint32_t mode;
  };
  void GetDirectory(const std::string& root, const Directory& asked);
  void GetEntry(const v1::FileInfo& entry, const std::string& root,
                const std::string& relative, int directory);
  void GetFile(const std::string& path, int directory, const std::string& name);
  // Fetches the small files of one directory that are in `batch_`, many at a
  // time.
  void GetBatch(int directory);
  void PlaceSmall(const v1::DownloadedFile& got, const std::string& path,
                  int directory);
  absl::StatusOr<UniqueFd> Enter(const Directory& directory) const;
  void Settle(const CopyEnd& end, const std::string& path);
  void Trouble(const std::string& path, const absl::Status& status);

  const RemoteFiles& remote_;
  WaitLine waiting_{"copying"};
  UniqueFd top_;
  std::vector<Directory> pending_;
  v1::DownloadFilesRequest batch_;
  uint64_t batch_bytes_ = 0;
  uint64_t entries_ = 0;
  int code_ = kExitOk;
  bool over_ = false;
};

// Opens the directory that contains `path`, and sets `name` to the last part of
// `path`.
absl::StatusOr<UniqueFd> OpenParent(const std::string& path, std::string& name);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_DOWNLOAD_H_
