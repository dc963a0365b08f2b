#ifndef SANDGLASS_POLICY_LIBRARIES_IMPORT_NAMES_H_
#define SANDGLASS_POLICY_LIBRARIES_IMPORT_NAMES_H_

#include "absl/strings/string_view.h"
#include "policy/libraries/libraries.h"

namespace sandglass::policy {

// The library that provides an import if the two names differ; empty: none is
// known. Examples of `name`: "cv2" and "google.protobuf" for Python,
// "active_record" for Ruby, a package or one above it for Java.
absl::string_view LibraryOfImport(Ecosystem ecosystem, absl::string_view name);

// Whether the import belongs to the language's own libraries, so that no
// library would provide it. For Python and Ruby only the first part of the name
// is checked, for the others the whole name.
bool IsStandardLibrary(Ecosystem ecosystem, absl::string_view name);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_IMPORT_NAMES_H_
