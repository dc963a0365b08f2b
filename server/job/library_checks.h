#ifndef SANDGLASS_SERVER_JOB_LIBRARY_CHECKS_H_
#define SANDGLASS_SERVER_JOB_LIBRARY_CHECKS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "policy/language/language.h"
#include "policy/profile/profile.h"
#include "server/job/request_checks.h"
#include "server/layers/library_request.h"

namespace sandglass::server {

// Libraries as they are to be installed: parsed, and let through by the
// profile; absent where nothing is asked for, or with a violation of
// "libraries" or "library_lock". `language` and `profile` may be null, which
// has another violation, but for a session without a language.
// LibrariesDenied, LibrariesUnavailable.
absl::StatusOr<std::optional<WantedLibraries>> CheckLibraries(
    const LibraryWish& wish, const policy::Language* language,
    const policy::Profile* profile, Violations& violations);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_LIBRARY_CHECKS_H_
