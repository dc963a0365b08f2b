#ifndef SANDGLASS_CLIENT_CERT_CERT_TEXT_H_
#define SANDGLASS_CLIENT_CERT_CERT_TEXT_H_

#include <string>

#include "absl/time/time.h"
#include "client/cert/certificate.h"

namespace sandglass::client {

// What is in a certificate, for people, and as one JSON object on a line.
std::string CertificateText(const std::string& file,
                            const CertificateFacts& facts, absl::Time now);
std::string CertificateJson(const std::string& file,
                            const CertificateFacts& facts);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CERT_CERT_TEXT_H_
