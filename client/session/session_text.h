#ifndef SANDGLASS_CLIENT_SESSION_SESSION_TEXT_H_
#define SANDGLASS_CLIENT_SESSION_SESSION_TEXT_H_

#include <string>

#include "absl/time/time.h"
#include "sandglass/v1/session.pb.h"

namespace sandglass::client {

// The output of `session list`: one line per session. Like the others, it is
// harmless for a terminal.
std::string SessionsText(const v1::ListSessionsResponse& sessions,
                         absl::Time now);

// The output of `session info`.
std::string SessionText(const v1::Session& session, absl::Time now);

// For example "in 29m58s unless it is used before"; "at once" when its time is
// over.
std::string ExpiryText(const v1::Session& session, absl::Time now);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_SESSION_TEXT_H_
