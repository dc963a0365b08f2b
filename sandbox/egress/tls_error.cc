#include "sandbox/egress/tls_error.h"

#include <openssl/err.h>

#include "absl/strings/str_cat.h"

namespace sandglass::egress {

std::string TlsWords() {
  // The first error is the cause; the later ones say what failed because of it.
  const unsigned long code = ::ERR_get_error();
  ::ERR_clear_error();
  const char* reason = ::ERR_reason_error_string(code);
  return reason == nullptr ? "the connection broke" : reason;
}

absl::Status TlsError(absl::string_view what) {
  return absl::InternalError(absl::StrCat(what, ": ", TlsWords()));
}

}  // namespace sandglass::egress
