#ifndef SANDGLASS_POLICY_LIBRARIES_MISSING_IMPORT_H_
#define SANDGLASS_POLICY_LIBRARIES_MISSING_IMPORT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "policy/libraries/libraries.h"

namespace sandglass::policy {

// An import that a program's language could not find.
struct MissingImport {
  std::string name;  // as the program's error has it: "cv2", "numpy.linalg"
  // The library that provides it, in the form of ParseLibraryName; empty when
  // that is not known.
  std::string library;
};

inline constexpr size_t kMissingImportScanBytes = 4096;

// Finds the last missing import that `stderr_tail` reports. That text comes
// from a program: it may be any bytes, of which only the last
// kMissingImportScanBytes are examined. nullopt when there is none, or when it
// belongs to the standard library, is a file of the program itself, or (Java)
// is in an unknown package.
std::optional<MissingImport> FindMissingImport(Ecosystem ecosystem,
                                               std::string_view stderr_tail);

// How to request the library, in one sentence of ASCII:
//   The import "cv2" is in the library "opencv-python": ask for it with
//   --library opencv-python, or "libraries": ["opencv-python"] in the request.
// For an import whose library isn't known it says so, and names none: the
// library that has the import's name may be another project's.
std::string MissingImportWords(Ecosystem ecosystem,
                               const MissingImport& missing);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_MISSING_IMPORT_H_
