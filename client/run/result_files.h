#ifndef SANDGLASS_CLIENT_RUN_RESULT_FILES_H_
#define SANDGLASS_CLIENT_RUN_RESULT_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/base/unique_fd.h"

namespace sandglass::client {

// Saves those results of one run that aren't text as "run-<n>-<k>.<extension>"
// in one directory: n is above that of all files there, k counts from 1.
// Existing files are never written to. The program only influences the
// contents.
class ResultFiles {
 public:
  // A directory that the user named is made and opened now. Otherwise it is
  // ./sandglass-results, which is made with the first file.
  static absl::StatusOr<ResultFiles> Open(
      const std::optional<std::string>& directory);

  // Writes a new file and returns its path, which begins with the directory as
  // it was named. The extension depends on the type. RESOURCE_EXHAUSTED when a
  // run saves more files than anybody would look at.
  absl::StatusOr<std::string> Save(absl::string_view mime_type,
                                   absl::string_view content);

 private:
  explicit ResultFiles(std::string directory)
      : directory_(std::move(directory)) {}
  absl::StatusOr<UniqueFd> Create(const std::string& extension,
                                  std::string& name);

  std::string directory_;
  UniqueFd fd_;
  uint32_t run_ = 0;  // n; 0 before the first file
  uint32_t saved_ = 0;
};

// For example ".png" for "image/png"; ".bin" for an unknown type.
std::string ExtensionOf(absl::string_view mime_type);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_RESULT_FILES_H_
