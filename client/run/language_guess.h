#ifndef SANDGLASS_CLIENT_RUN_LANGUAGE_GUESS_H_
#define SANDGLASS_CLIENT_RUN_LANGUAGE_GUESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandglass/v1/server_info.pb.h"

namespace sandglass::client {

// The interpreter that a "#!" line names, without its directory. If that is
// env(1), skips env's options and assignments. Empty when there is none.
std::string ShebangInterpreter(absl::string_view code);

// Finds the id of a program's language in the daemon's table: by the file
// name's extension, else by the "#!" line (its interpreter is an id or an
// alias, with or without a version at its end: "python3.11"). `file_name` may
// be empty. INVALID_ARGUMENT names the available languages.
absl::StatusOr<std::string> GuessLanguage(
    absl::string_view file_name, absl::string_view code,
    const v1::GetServerInfoResponse& server);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_LANGUAGE_GUESS_H_
