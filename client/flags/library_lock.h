#ifndef SANDGLASS_CLIENT_FLAGS_LIBRARY_LOCK_H_
#define SANDGLASS_CLIENT_FLAGS_LIBRARY_LOCK_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/base/utf8_check.h"

// The name comes from the library.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sandglass::client {

// Adds the option --library-lock FILE to a command that may name libraries.
CLI::Option* AddLibraryLock(CLI::App& app);

// The content of its file in the form that a request has; "-" is standard
// input. The error names the file: it can't be read, it is empty, larger than a
// daemon accepts, or isn't text.
absl::StatusOr<std::string> ReadLibraryLock(const std::string& path);

// Sets a request's libraries from a command line; without a file there is no
// lock. `flag` is the option that names a library, for messages.
template <typename Request>
absl::Status SetLibraries(const std::vector<std::string>& libraries,
                          const std::optional<std::string>& lock_file,
                          const std::string& flag, Request& request) {
  for (const std::string& library : libraries) {
    if (absl::Status text = CheckUtf8(flag, library); !text.ok()) return text;
    request.add_libraries(library);
  }
  if (!lock_file) return absl::OkStatus();
  absl::StatusOr<std::string> lock = ReadLibraryLock(*lock_file);
  if (!lock.ok()) return lock.status();
  request.set_library_lock(*std::move(lock));
  return absl::OkStatus();
}

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_FLAGS_LIBRARY_LOCK_H_
