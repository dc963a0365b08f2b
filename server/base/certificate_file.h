#ifndef SANDGLASS_SERVER_BASE_CERTIFICATE_FILE_H_
#define SANDGLASS_SERVER_BASE_CERTIFICATE_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace sandglass::server {

// A file of certificates in PEM, as it is; "" of no path. INVALID_ARGUMENT with
// `setting`, the key that names it, when it can't be read, has no certificate
// or one that isn't well made.
absl::StatusOr<std::string> ReadCertificates(const std::string& setting,
                                             const std::string& path);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_BASE_CERTIFICATE_FILE_H_
