#ifndef SANDGLASS_POLICY_LIBRARIES_MISSING_IMPORT_H_
#define SANDGLASS_POLICY_LIBRARIES_MISSING_IMPORT_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "policy/libraries/libraries.h"

namespace sandglass::policy {

// An import that a program's language didn't find.
struct MissingImport {
  std::string name;      // as the program's error has it: "cv2", "numpy.linalg"
  std::string library;   // that provides it, as ParseLibraryName has it
  bool guessed = false;  // the library is only its namesake
};

inline constexpr size_t kMissingImportScanBytes = 4096;

// The last import that `stderr_tail` tells to be missing. It is a program's:
// any bytes, of which only the last kMissingImportScanBytes are looked at.
// Absent when there is none, when it is of the standard library, a file of the
// program's own, or (Java) of no package that is known.
std::optional<MissingImport> FindMissingImport(Ecosystem ecosystem,
                                               std::string_view stderr_tail);

// How to ask for it, in one sentence of ASCII:
//   The import "cv2" is in the library "opencv-python": ask for it with
//   --library opencv-python, or "libraries": ["opencv-python"] in the request.
// A guess "may be" in its library.
std::string MissingImportWords(Ecosystem ecosystem,
                               const MissingImport& missing);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_MISSING_IMPORT_H_
