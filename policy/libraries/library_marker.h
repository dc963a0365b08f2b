#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_MARKER_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_MARKER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sandglass::policy {

// Parses a condition for an environment as defined by PEP 508, for example
// `python_version < "3.11" and sys_platform == 'win32'`, and writes it anew:
// with single spaces, and strings in double quotes. It may use the variables of
// the PEP except "extra", which has no meaning in a lock. INVALID_ARGUMENT for
// everything else; the message doesn't contain the text.
absl::StatusOr<std::string> NormalMarker(absl::string_view text);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_MARKER_H_
