#ifndef SANDGLASS_TESTS_E2E_NETWORK_NETWORK_FIXTURE_H_
#define SANDGLASS_TESTS_E2E_NETWORK_NETWORK_FIXTURE_H_

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/network/tls_world.h"
#include "tests/support/network/world.h"

namespace sandglass::testing {

// Names of the tests' world.
inline constexpr char kAllowed[] = "allowed.test.org";
inline constexpr char kOther[] = "other.test.org";      // in no profile
inline constexpr char kPrivate[] = "private.test.org";  // is 10.1.2.3
inline constexpr char kDeep[] = "a.b.wild.test.org";    // below *.wild.test.org

inline constexpr char kInspected[] = "inspected.test.org";
inline constexpr char kSecretValue[] = "s3cr3t-value-of-the-edge";

// The daemon in a world of the test's own (tests/support/network/world.h):
// servers on ports 80, 8080 and, with TLS, 443 of every address that answer
// "hello from HOST PATH", a name server, and profiles: "web" lets programs
// reach some of them, "look" has one inspected, which may be sent the secret
// API_KEY.
class NetworkTest : public OwnDaemonTest {
 protected:
  NetworkTest();
  ~NetworkTest() override;

  void SetUp() override;

  void WriteProfile(const std::string& name, const std::string& text) const;
  // Under the profile "web".
  v1::RunCodeRequest Program(const std::string& language,
                             const std::string& code) const;
  v1::RunCodeResponse RunIn(const std::string& profile,
                            v1::RunCodeRequest request);
  // Where this is a directory the servers have its files instead, and a
  // directory's index.html for itself, with their own address for @BASE@ in it.
  std::string files() const { return place_ + "/www"; }
  // Whoever trusts them trusts the servers; PEM.
  const std::string& roots() const { return issuer_.pem(); }
  // The audit log.
  std::string AuditText() const;
  // The heads of all requests that came to the servers, oldest first.
  std::vector<std::string> Heard();

  const std::string place_;

 private:
  template <typename End>
  void Serve(End& end, const std::string& scheme);

  std::mutex mutex_;
  std::vector<std::string> heard_;
  TestNames names_;
  TestServer http_;
  TestServer http_8080_;
  TestIssuer issuer_;
  TlsContext tls_;
  TestServer https_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_E2E_NETWORK_NETWORK_FIXTURE_H_
