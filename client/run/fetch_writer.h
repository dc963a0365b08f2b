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

// Writes files that came back from a run into one directory. The program chose
// their paths, so they count as hostile: nothing is ever written outside of the
// directory or through a symbolic link.
class FetchWriter {
 public:
  // Opens `directory`, and makes it if it is missing (its parent has to exist).
  static absl::StatusOr<FetchWriter> Open(const std::string& directory,
                                          ExistingFile existing);

  // Writes one file and makes its parent directories. An existing regular file
  // is replaced as a whole or, with kKeep, is an error. The mode keeps the
  // permission bits of `file` except set-id, sticky and write permission for
  // others, less the umask. Fails without leaving anything for an unsafe path
  // (CheckFetchPath), when a component of the path is a symbolic link or the
  // target isn't a regular file, and when the daemon could not bring the file
  // back (`file.error`).
  absl::Status Write(const v1::OutputFile& file) const;

 private:
  FetchWriter(UniqueFd directory, ExistingFile existing)
      : directory_(std::move(directory)), existing_(existing) {}
  UniqueFd directory_;
  ExistingFile existing_;
};

// OK for a relative path of plain components: not empty, no "..", ".", empty
// component, leading "/", NUL, control character or invalid UTF-8; at most 4095
// bytes. Otherwise INVALID_ARGUMENT.
absl::Status CheckFetchPath(absl::string_view path);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_FETCH_WRITER_H_
