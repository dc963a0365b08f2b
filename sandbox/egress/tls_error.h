#ifndef SANDGLASS_SANDBOX_EGRESS_TLS_ERROR_H_
#define SANDGLASS_SANDBOX_EGRESS_TLS_ERROR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sandglass::egress {

// What OpenSSL says of this thread's last failure, for people: a few words,
// never data. Its queue of errors is empty afterwards.
std::string TlsWords();

// INTERNAL: "what: why".
absl::Status TlsError(absl::string_view what);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_TLS_ERROR_H_
