#ifndef SANDGLASS_CLIENT_SESSION_REMOTE_FILES_H_
#define SANDGLASS_CLIENT_SESSION_REMOTE_FILES_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/connection/daemon.h"
#include "client/terminal/interrupt_watcher.h"
#include "sandglass/v1/files.pb.h"

namespace sandglass::client {

// Small files go many at a time: a batch is sent once it has so many bytes or
// files.
inline constexpr size_t kBatchBytes = 4 * 1024 * 1024;
inline constexpr int kBatchFiles = 500;

// How copying a file came out: `local` is our own trouble, `call` the daemon's
// answer. When both failed `local` is why.
struct CopyEnd {
  absl::Status local;
  grpc::Status call;
  bool ok() const { return local.ok() && call.ok(); }
};

// The files of one session, with calls that a signal ends. Borrows its
// arguments.
class RemoteFiles {
 public:
  RemoteFiles(const Daemon& daemon, std::string session_id,
              InterruptWatcher& interrupts)
      : daemon_(daemon),
        session_id_(std::move(session_id)),
        interrupts_(interrupts) {}

  // Follows links.
  grpc::Status Stat(const std::string& path, v1::FileInfo& info) const;
  grpc::Status MakeDirectory(const std::string& path, uint32_t mode) const;
  // Fetches a page, beginning at the token in `page`, and sets the token for
  // the next page.
  grpc::Status List(const std::string& path,
                    v1::ListDirectoryResponse& page) const;
  grpc::Status Upload(v1::UploadFilesRequest request,
                      v1::UploadFilesResponse& response) const;
  grpc::Status Download(v1::DownloadFilesRequest request,
                        v1::DownloadFilesResponse& response) const;

  // Passes the content of a file to `sink`, piece by piece; an error of `sink`
  // ends it.
  using Sink = std::function<absl::Status(absl::string_view)>;
  CopyEnd Read(const std::string& path, const Sink& sink,
               v1::FileInfo& info) const;

  // Writes everything that comes from a descriptor, in a fixed amount of
  // memory, and makes the directories on the way. If `mode` is below 0, the
  // daemon chooses it. The file appears as a whole or not at all.
  CopyEnd Write(const std::string& path, int fd, int mode) const;

  // Passes a directory as an archive to `sink`, and restores one from a
  // descriptor.
  CopyEnd Snapshot(const std::string& path, const Sink& sink) const;
  CopyEnd Restore(v1::RestoreFilesStart start, int fd,
                  v1::RestoreFilesResponse& response) const;

  // Prints what failed, naming `name` if the error is on our side. Returns the
  // exit code.
  int Explain(const CopyEnd& end, absl::string_view name) const;

  // False when only this one file failed and others may succeed.
  static bool EndsAll(const CopyEnd& end);

 private:
  const Daemon& daemon_;
  const std::string session_id_;
  InterruptWatcher& interrupts_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_REMOTE_FILES_H_
