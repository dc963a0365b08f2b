#ifndef SANDGLASS_SANDBOX_EGRESS_AUTHORITY_H_
#define SANDGLASS_SANDBOX_EGRESS_AUTHORITY_H_

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "policy/network/hosts.h"

namespace sandglass::egress {

// A certificate authority of this daemon. Programs trust it, so that the proxy
// can terminate TLS in place of the servers that they connect to. Thread-safe
// once it has been made.
class Authority {
 public:
  using ContextPtr = std::shared_ptr<SSL_CTX>;

  // The certificate is valid from one hour before the start, because clocks
  // differ, until this long after it. A daemon that runs for longer has to be
  // restarted before then.
  static constexpr absl::Duration kValid = absl::Hours(24 * 180);
  // How long the certificates of Issue are valid.
  static constexpr absl::Duration kLeafValid = absl::Hours(24 * 7);
  // The number of hosts whose keys are kept: those that were asked for last.
  static constexpr size_t kMaxKept = 128;

  // Makes a new authority, with a P-256 key that nobody else has. It can issue
  // certificates for hosts, but not for other authorities.
  static absl::StatusOr<std::shared_ptr<Authority>> Make();
  // Loads an authority that another process made, in PEM. INVALID_ARGUMENT: one
  // of the two can't be read, they don't belong together, or the certificate
  // isn't that of an authority.
  static absl::StatusOr<std::shared_ptr<Authority>> Load(
      std::string_view certificate_pem, std::string_view key_pem);

  // The certificate that programs have to trust.
  absl::StatusOr<std::string> CertificatePem() const;
  // Anyone who has this key can pose as any server to those who trust the
  // certificate.
  absl::StatusOr<std::string> KeyPem() const;

  // Makes a context for TLS 1.2 and later as the server `host`, with a key of
  // its own and the protocol http/1.1. It resumes no sessions, so that nothing
  // from one connection is known in another.
  absl::StatusOr<ContextPtr> Issue(const policy::RequestedHost& host)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // How many hosts' keys are kept now; at most kMaxKept.
  size_t kept() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)>;
  using CertificatePtr = std::unique_ptr<X509, decltype(&::X509_free)>;
  struct Kept {
    ContextPtr context;
    absl::Time renew;                       // from then on a new one is made
    std::list<std::string>::iterator used;  // in used_
  };

  Authority(KeyPtr key, CertificatePtr certificate)
      : key_(std::move(key)), certificate_(std::move(certificate)) {}

  static absl::StatusOr<KeyPtr> MakeKey();
  absl::StatusOr<ContextPtr> MakeContext(
      const policy::RequestedHost& host) const;
  absl::StatusOr<CertificatePtr> MakeLeaf(const policy::RequestedHost& host,
                                          EVP_PKEY* key) const;

  const KeyPtr key_;
  const CertificatePtr certificate_;

  mutable absl::Mutex mutex_;
  std::map<std::string, Kept> kept_ ABSL_GUARDED_BY(mutex_);
  // The keys of kept_, the one that was asked for last at the front.
  std::list<std::string> used_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_AUTHORITY_H_
