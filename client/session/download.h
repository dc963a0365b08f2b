#ifndef SANDGLASS_CLIENT_SESSION_DOWNLOAD_H_
#define SANDGLASS_CLIENT_SESSION_DOWNLOAD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/base/exit_codes.h"
#include "client/base/unique_fd.h"
#include "client/session/remote_files.h"

namespace sandglass::client {

// Copies what is in one session to here. The names in a directory were chosen
// by the session's code and count as hostile: nothing is written outside of the
// directory that the user named, or through a symbolic link. Trouble with one
// file is said and the others go on.
class Download {
 public:
  // Borrows `remote`.
  explicit Download(const RemoteFiles& remote) : remote_(remote) {}

  // A file or a directory to `local`, or into it where it is a directory.
  // Returns what to exit with.
  int Run(const std::string& path, const std::string& local);

 private:
  // One to go through, relative to the top; and its permission bits here when
  // it has to be made.
  struct Directory {
    std::string relative;
    uint32_t mode;
  };
  void GetDirectory(const std::string& root, const Directory& asked);
  void GetEntry(const v1::FileInfo& entry, const std::string& root,
                const std::string& relative, int directory);
  void GetFile(const std::string& path, int directory, const std::string& name);
  // Small files of one directory, many at a time; all that `batch_` has.
  void GetBatch(int directory);
  void PlaceSmall(const v1::DownloadedFile& got, const std::string& path,
                  int directory);
  absl::StatusOr<UniqueFd> Enter(const Directory& directory) const;
  void Settle(const CopyEnd& end, const std::string& path);
  void Trouble(const std::string& path, const absl::Status& status);

  const RemoteFiles& remote_;
  UniqueFd top_;
  std::vector<Directory> pending_;
  v1::DownloadFilesRequest batch_;
  uint64_t batch_bytes_ = 0;
  uint64_t entries_ = 0;
  int code_ = kExitOk;
  bool over_ = false;
};

// Opens the directory that `path` is in, and sets `name` to its last part.
absl::StatusOr<UniqueFd> OpenParent(const std::string& path, std::string& name);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_DOWNLOAD_H_
