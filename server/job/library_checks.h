#ifndef SANDGLASS_SERVER_JOB_LIBRARY_CHECKS_H_
#define SANDGLASS_SERVER_JOB_LIBRARY_CHECKS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "policy/language/language.h"
#include "policy/profile/profile.h"
#include "server/job/request_checks.h"
#include "server/layers/library_request.h"

namespace sandglass::server {

// Parses the libraries that are to be installed and checks them against the
// profile. The result is absent when nothing is asked for, and when there was a
// violation of "libraries" or "library_lock". `language` and `profile` may be
// null; in that case another check has added a violation, except in a session
// without a language. Errors: LibrariesDenied, LibrariesUnavailable.
absl::StatusOr<std::optional<LibraryRequest>> CheckLibraries(
    const LibraryWish& wish, const policy::Language* language,
    const policy::Profile* profile, Violations& violations);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_LIBRARY_CHECKS_H_
