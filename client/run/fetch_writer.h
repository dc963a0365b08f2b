#ifndef SANDGLASS_CLIENT_RUN_FETCH_WRITER_H_
#define SANDGLASS_CLIENT_RUN_FETCH_WRITER_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/base/local_files.h"
#include "client/base/unique_fd.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// Writes files that came back from a run below one directory. Their paths were
// chosen by the program and count as hostile: nothing is ever written outside
// of the directory or through a symbolic link.
class FetchWriter {
 public:
  // Opens `directory`; makes it when it is missing (its parent must be there).
  static absl::StatusOr<FetchWriter> Open(const std::string& directory,
                                          ExistingFile existing);

  // Writes one file, making its parent directories. An existing regular file
  // is replaced as a whole or, with kKeep, is an error; the mode keeps the
  // permission bits of `file` except set-id, sticky and writing by others, less
  // the umask. Fails without a trace for an unsafe path (CheckFetchPath), when
  // a component of the path is a symbolic link or the target is no regular
  // file, and when the daemon could not bring the file back (`file.error`).
  absl::Status Write(const v1::OutputFile& file) const;

 private:
  FetchWriter(UniqueFd directory, ExistingFile existing)
      : directory_(std::move(directory)), existing_(existing) {}
  UniqueFd directory_;
  ExistingFile existing_;
};

// OK for a relative path of plain components: not empty, no "..", ".", empty
// component, leading "/", NUL, control character or invalid UTF-8; at most
// 4095 bytes. Else INVALID_ARGUMENT.
absl::Status CheckFetchPath(absl::string_view path);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_FETCH_WRITER_H_
