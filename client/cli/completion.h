#ifndef SANDGLASS_CLIENT_CLI_COMPLETION_H_
#define SANDGLASS_CLIENT_CLI_COMPLETION_H_

#include <string>

#include "absl/status/statusor.h"

// The name comes from the library.
// NOLINTNEXTLINE(readability-identifier-naming)
namespace CLI {
class App;
}  // namespace CLI

namespace sandglass::client {

// A script for this shell, "bash", "zsh" or "fish", that completes the commands
// and options of `app`, and else names of files. INVALID_ARGUMENT for another
// shell.
absl::StatusOr<std::string> CompletionScript(const CLI::App& app,
                                             const std::string& shell);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CLI_COMPLETION_H_
