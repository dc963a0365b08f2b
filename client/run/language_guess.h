#ifndef SANDGLASS_CLIENT_RUN_LANGUAGE_GUESS_H_
#define SANDGLASS_CLIENT_RUN_LANGUAGE_GUESS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sandglass/v1/server_info.pb.h"

namespace sandglass::client {

// The interpreter that a "#!" line names, without its directory; looks through
// env(1) with its options and assignments. Empty when there is none.
std::string ShebangInterpreter(absl::string_view code);

// The id of the language that the daemon's table gives for a program: by the
// file name's extension, else by the "#!" line (its interpreter is an id or an
// alias, with or without a version at its end: "python3.11"). `file_name` may
// be empty. INVALID_ARGUMENT names the languages there are.
absl::StatusOr<std::string> GuessLanguage(
    absl::string_view file_name, absl::string_view code,
    const v1::GetServerInfoResponse& server);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_LANGUAGE_GUESS_H_
