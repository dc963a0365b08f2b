#ifndef SANDGLASS_SERVER_ISOLATION_CANARY_H_
#define SANDGLASS_SERVER_ISOLATION_CANARY_H_

#include <string_view>

#include "absl/status/status.h"
#include "policy/profile.h"
#include "server/cancel_token.h"
#include "server/policy_set.h"
#include "server/run_function.h"

namespace sandglass::server {

// A program that looks around in a jail and tries what no program may: what the
// start found of the host's layers is what it could set up, this is what a
// program meets. It is a script for /bin/sh, in an image that has it, in a jail
// of each profile.

// Runs it in jails of all profiles, one after another, on the calling thread.
// OK: every jail held in which it could be tried, and there was one; a filter
// that lets no shell work lets nobody out. FAILED_PRECONDITION: something that
// must not be possible was, twice; says what, and under which profile. Other
// codes: it could nowhere be tried, which says nothing of the jails.
absl::Status CheckIsolation(const PolicySet& policy, const RunFunction& run,
                            CancelToken& cancel);

// What the script printed: OK, FAILED_PRECONDITION as above, UNKNOWN when it
// didn't come to its end.
absl::Status JudgeIsolation(std::string_view output);

// The script.
extern const char kIsolationScript[];

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_ISOLATION_CANARY_H_
