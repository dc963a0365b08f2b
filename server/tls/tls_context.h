#ifndef SANDGLASS_SERVER_TLS_TLS_CONTEXT_H_
#define SANDGLASS_SERVER_TLS_TLS_CONTEXT_H_

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "server/tls/tls_config.h"

namespace sandglass::server {

// What the files of a TlsConfig say: PEM texts.
struct TlsFiles {
  std::string certificate;
  std::string key;
  std::string client_ca;
  std::string crl;
  friend bool operator==(const TlsFiles&, const TlsFiles&) = default;
};

// Paths of those files that the configuration names, in a fixed order.
std::vector<std::string> TlsPaths(const TlsConfig& config);
struct TlsFile {
  os::Fd fd;          // empty: it could not be opened
  std::string error;  // why
};
// Reads these files, which are those of TlsPaths. INVALID_ARGUMENT names the
// key and the path of what can't be read, is no regular file, or has over 1
// MiB.
absl::StatusOr<TlsFiles> ReadTlsFiles(const TlsConfig& config,
                                      const std::vector<TlsFile>& opened);
// Opens and reads them.
absl::StatusOr<TlsFiles> ReadTlsFiles(const TlsConfig& config);

using SharedTls = std::shared_ptr<SSL_CTX>;

// Makes the settings of new connections: TLS 1.2 and 1.3, HTTP/2 alone unless
// the configuration has http1, no
// renegotiation and no resumption, so that each connection proves anew who is
// at its other end. INVALID_ARGUMENT names the configuration's key and says
// what is wrong: a file without a certificate or a key, a pair that doesn't
// match, a certificate that has expired or isn't valid yet.
absl::StatusOr<SharedTls> MakeTls(const TlsConfig& config,
                                  const TlsFiles& files, absl::Time now);

// When the certificate in such a context ends.
absl::Time CertificateEnd(const SharedTls& tls);

// The settings in force. Connections keep those with which they began.
// Thread-safe.
class TlsContext {
 public:
  TlsContext(TlsConfig config, TlsFiles files, SharedTls tls)
      : config_(std::move(config)),
        files_(std::move(files)),
        tls_(std::move(tls)) {}

  SharedTls Get() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Puts other files into force; on an error the ones before stay. Nothing
  // happens when they are the same.
  absl::Status Replace(const absl::StatusOr<TlsFiles>& files, absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Of the last Replace.
  absl::Status state() const ABSL_LOCKS_EXCLUDED(mutex_);
  const TlsConfig& config() const { return config_; }

 private:
  const TlsConfig config_;
  mutable absl::Mutex mutex_;
  TlsFiles files_ ABSL_GUARDED_BY(mutex_);
  SharedTls tls_ ABSL_GUARDED_BY(mutex_);
  absl::Status state_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_TLS_TLS_CONTEXT_H_
