#ifndef SANDGLASS_TESTS_SUPPORT_NETWORK_TLS_WORLD_H_
#define SANDGLASS_TESTS_SUPPORT_NETWORK_TLS_WORLD_H_

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace sandglass::testing {

using TlsContext = std::shared_ptr<SSL_CTX>;

// Issues certificates of servers, as somebody else's authority does.
class TestIssuer {
 public:
  struct Wish {
    std::string names;                      // "DNS:a.test,IP:192.0.2.1"
    absl::Duration from = -absl::Hours(1);  // of now
    absl::Duration until = absl::Hours(1);
    std::string protocol = "http/1.1";
    int version = 0;  // TLS1_2_VERSION; 0: any
  };

  explicit TestIssuer(const std::string& name);

  // What clients are to trust.
  const std::string& pem() const { return pem_; }
  TlsContext Server(const Wish& wish) const;

  struct Pair {
    std::string certificate;  // PEM
    std::string key;
  };
  Pair Issue(const Wish& wish) const;
  // The list of those certificates that are revoked, in PEM.
  std::string Revoked(const std::vector<std::string>& certificates) const;

 private:
  struct Leaf {
    std::shared_ptr<EVP_PKEY> key;
    std::shared_ptr<X509> certificate;
  };
  Leaf NewLeaf(const Wish& wish) const;

  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> certificate_;
  std::string pem_;
};

// A client's context that trusts these; empty: that trusts nobody. With `own`
// it shows that certificate.
TlsContext TestClient(const std::string& roots_pem,
                      const std::vector<std::string>& protocols = {},
                      const TestIssuer::Pair& own = {});

// One end of TLS on a socket that somebody else owns; calls wait for ten
// seconds at most.
class TlsEnd {
 public:
  TlsEnd(int socket, const TlsContext& context);
  // Says nothing of its end; see Finish.
  ~TlsEnd() = default;

  // Empty: without a server name, and the certificate's isn't looked at.
  bool Connect(const std::string& name);
  bool Accept();

  bool Send(std::string_view data);
  // As those for sockets (world.h).
  std::string Receive(size_t size);
  std::string ReceiveAll() { return Receive(SIZE_MAX); }
  std::string ReceiveUntil(std::string_view end);
  // The other side said that it ends, rather than breaking off.
  bool was_finished() const;
  void Finish() { ::SSL_shutdown(tls_.get()); }

  // What went wrong last.
  const std::string& words() const { return words_; }
  std::string protocol() const;
  // Names of the other side's certificate, in order.
  std::vector<std::string> names() const;
  SSL* get() { return tls_.get(); }

 private:
  bool Done(int result);

  std::unique_ptr<SSL, decltype(&::SSL_free)> tls_;
  std::string words_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_NETWORK_TLS_WORLD_H_
