#ifndef SANDGLASS_SERVER_BASE_CERTIFICATE_FILE_H_
#define SANDGLASS_SERVER_BASE_CERTIFICATE_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace sandglass::server {

// Returns the contents of a file of PEM certificates, unchanged, or "" when
// `path` is empty. INVALID_ARGUMENT, naming the configuration key `setting`,
// when the file can't be read, has no certificate or has one that isn't well
// formed.
absl::StatusOr<std::string> ReadCertificates(const std::string& setting,
                                             const std::string& path);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_CERTIFICATE_FILE_H_
