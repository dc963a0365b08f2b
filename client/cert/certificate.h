#ifndef SANDGLASS_CLIENT_CERT_CERTIFICATE_H_
#define SANDGLASS_CLIENT_CERT_CERTIFICATE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace sandglass::client {

constexpr int kAuthorityDays = 3650;
// What browsers and libraries accept of a certificate at most.
constexpr int kMaxDays = 825;
constexpr int kServerDays = 365;
constexpr int kClientDays = 90;

// A certificate and its key, in PEM.
struct Identification {
  std::string certificate;
  std::string key;
};

enum class CertificateUse { kServer, kClient };

// What a certificate is to say.
struct CertificateWish {
  CertificateUse use = CertificateUse::kServer;
  std::string name;  // the subject's common name
  // Host names and IP addresses of a server; a client's URI.
  std::vector<std::string> hosts;
  std::string uri;
  int days = kServerDays;
};

// A certificate, read for people.
struct CertificateFacts {
  std::string subject;
  std::string issuer;
  std::string serial;              // hexadecimal
  std::vector<std::string> names;  // "DNS:a", "IP:127.0.0.1", "URI:spiffe://…"
  std::string use;                 // "authority", "server", "client" or both
  absl::Time from;
  absl::Time until;
};

// Keys are of ECDSA on P-256, serials have 128 random bits. A certificate never
// outlives its authority, and is valid from five minutes before `now`, since
// clocks differ.
absl::StatusOr<Identification> MakeAuthority(const std::string& name,
                                             absl::Time now);
absl::StatusOr<Identification> MakeCertificate(const Identification& authority,
                                               const CertificateWish& wish,
                                               absl::Time now);

// The same certificate for the same key with a new serial, for `days` from now;
// 0: as long as before. The authority has to be the one that signed it.
absl::StatusOr<std::string> RenewCertificate(const Identification& authority,
                                             const std::string& certificate,
                                             int days, absl::Time now);

absl::StatusOr<CertificateFacts> ReadCertificate(const std::string& pem);

// A DNS name, or an IP address without brackets.
bool IsCertificateHost(absl::string_view host);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CERT_CERTIFICATE_H_
