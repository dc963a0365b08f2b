#ifndef SANDGLASS_CLIENT_LIBRARY_LOCK_H_
#define SANDGLASS_CLIENT_LIBRARY_LOCK_H_

#include <string>

#include "absl/status/statusor.h"

// The name is the library's.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sandglass::client {

// The option --library-lock FILE of a command that may name libraries.
CLI::Option* AddLibraryLock(CLI::App& app);

// What its file says, as a request has it; "-" is standard input. An error
// names the file: it can't be read, it is empty, larger than a daemon takes, or
// no text.
absl::StatusOr<std::string> ReadLibraryLock(const std::string& path);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_LIBRARY_LOCK_H_
