#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_MARKER_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_MARKER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sandglass::policy {

// A condition for an environment as PEP 508 has it, such as
// `python_version < "3.11" and sys_platform == 'win32'`, written anew: one
// blank between its words, texts in double quotes. Its variables are those of
// the PEP but "extra", which means nothing in a lock. INVALID_ARGUMENT for all
// else, with words without the text.
absl::StatusOr<std::string> NormalMarker(absl::string_view text);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_MARKER_H_
