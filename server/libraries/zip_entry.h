#ifndef SANDGLASS_SERVER_LIBRARIES_ZIP_ENTRY_H_
#define SANDGLASS_SERVER_LIBRARIES_ZIP_ENTRY_H_

#include <cstddef>
#include <string>

#include "absl/status/statusor.h"

namespace sandglass::server {

inline constexpr size_t kMaxEntryBytes = 256 << 10;

// Reads one file of a zip archive, such as a jar. NOT_FOUND: the archive or the
// entry isn't there. INVALID_ARGUMENT: it is no archive, is damaged, or the
// entry is encrypted or larger than kMaxEntryBytes.
absl::StatusOr<std::string> ReadZipEntry(const std::string& archive,
                                         const std::string& entry);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_LIBRARIES_ZIP_ENTRY_H_
