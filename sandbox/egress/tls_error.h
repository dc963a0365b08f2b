#ifndef SANDGLASS_SANDBOX_EGRESS_TLS_ERROR_H_
#define SANDGLASS_SANDBOX_EGRESS_TLS_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sandglass::egress {

// What OpenSSL says about this thread's last failure, for people: a few words,
// never data. Empties OpenSSL's queue of errors.
std::string TlsWords();

// An INTERNAL error with the message "what: why".
absl::Status TlsError(absl::string_view what);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_TLS_ERROR_H_
