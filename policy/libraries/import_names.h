#ifndef SANDGLASS_POLICY_LIBRARIES_IMPORT_NAMES_H_
#define SANDGLASS_POLICY_LIBRARIES_IMPORT_NAMES_H_

#include "absl/strings/string_view.h"
#include "policy/libraries/libraries.h"

namespace sandglass::policy {

// The library that provides an import whose name it doesn't have; empty: none
// is known. Of Python "cv2" and "google.protobuf", of Ruby "active_record", of
// Java a package or one above it.
absl::string_view LibraryOfImport(Ecosystem ecosystem, absl::string_view name);

// Whether it comes with the language, so that no library would bring it. Of
// Python and Ruby the first part of its name, of the others all of it.
bool IsStandardLibrary(Ecosystem ecosystem, absl::string_view name);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_IMPORT_NAMES_H_
