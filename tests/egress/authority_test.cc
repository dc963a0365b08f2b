#include "sandbox/egress/authority.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <ctime>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/os/fd.h"
#include "tests/support/network/tls_world.h"

namespace sandglass::egress {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

policy::RequestedHost Host(const std::string& text) {
  auto host = policy::ParseRequestedHost(text, policy::HostSyntax::kPlain);
  EXPECT_TRUE(host.ok()) << host.status();
  return *host;
}

std::shared_ptr<Authority> NewAuthority() {
  auto made = Authority::Make();
  EXPECT_TRUE(made.ok()) << made.status();
  return *made;
}

std::shared_ptr<X509> Parsed(const std::string& pem) {
  BIO* text = ::BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  std::shared_ptr<X509> parsed(
      ::PEM_read_bio_X509(text, nullptr, nullptr, nullptr), &::X509_free);
  ::BIO_free(text);
  return parsed;
}

// What a client that trusts `pem` says of a server with `context`; empty: it
// is content. `names` gets the certificate's.
std::string Verified(const std::string& pem, const testing::TlsContext& context,
                     const std::string& name,
                     std::vector<std::string>* names = nullptr) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const os::Fd one(ends[0]);
  const os::Fd two(ends[1]);
  std::thread server([&] { testing::TlsEnd(two.get(), context).Accept(); });
  testing::TlsEnd client(one.get(), testing::TestClient(pem));
  const bool done = client.Connect(name);
  if (done && names != nullptr) *names = client.names();
  const std::string words = client.words();
  ::shutdown(one.get(), SHUT_RDWR);
  server.join();
  return done ? "" : words;
}

TEST(AuthorityTest, ItsCertificateIsOneThatMaySignForHostsAlone) {
  const auto authority = NewAuthority();
  const std::string pem = *authority->CertificatePem();
  const auto own = Parsed(pem);
  ASSERT_NE(own, nullptr) << pem;
  EXPECT_EQ(::X509_check_ca(own.get()), 1);
  EXPECT_EQ(::X509_get_pathlen(own.get()), 0);
  EXPECT_EQ(::X509_get_key_usage(own.get()), uint32_t{KU_KEY_CERT_SIGN});
  char name[200] = {};
  ::X509_NAME_get_text_by_NID(::X509_get_subject_name(own.get()),
                              NID_commonName, name, sizeof(name));
  EXPECT_THAT(name, HasSubstr("Sandglass"));
  time_t then = ::time(nullptr) - 3000;
  EXPECT_LT(::X509_cmp_time(::X509_get0_notBefore(own.get()), &then), 0);
  then = ::time(nullptr) + 60L * 24 * 3600;
  EXPECT_GT(::X509_cmp_time(::X509_get0_notAfter(own.get()), &then), 0);
  EXPECT_NE(pem, *NewAuthority()->CertificatePem());
}

TEST(AuthorityTest, ClientsThatTrustItTakeItsHosts) {
  const auto authority = NewAuthority();
  const std::string pem = *authority->CertificatePem();
  const std::string longest =
      absl::StrCat(std::string(63, 'a'), ".", std::string(63, 'b'), ".",
                   std::string(60, 'c'), ".test");
  for (const std::string& name : {std::string("a.test"), longest,
                                  std::string("with_underscore.b.test")}) {
    std::vector<std::string> names;
    EXPECT_EQ(Verified(pem, *authority->Issue(Host(name)), name, &names), "");
    EXPECT_THAT(names, ElementsAre(name));
  }
  std::vector<std::string> names;
  EXPECT_EQ(Verified(pem, *authority->Issue(Host("192.0.2.1")), "", &names),
            "");
  EXPECT_THAT(names, ElementsAre(std::string("\xc0\x00\x02\x01", 4)));
  EXPECT_EQ(Verified(pem, *authority->Issue(Host("2001:db8::1")), "", &names),
            "");
  EXPECT_THAT(names, ElementsAre(StartsWith("\x20\x01\x0d\xb8")));
  EXPECT_THAT(Verified(pem, *authority->Issue(Host("a.test")), "b.test"),
              HasSubstr("certificate verify failed"));
  EXPECT_THAT(Verified(*NewAuthority()->CertificatePem(),
                       *authority->Issue(Host("a.test")), "a.test"),
              HasSubstr("certificate verify failed"));
}

TEST(AuthorityTest, AnotherProcessCanLoadIt) {
  const auto authority = NewAuthority();
  const std::string pem = *authority->CertificatePem();
  const auto loaded = Authority::Load(pem, *authority->KeyPem());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(*(*loaded)->CertificatePem(), pem);
  EXPECT_EQ(Verified(pem, *(*loaded)->Issue(Host("a.test")), "a.test"), "");
}

TEST(AuthorityTest, InvalidAuthorityFilesAreNotLoaded) {
  const auto authority = NewAuthority();
  const std::string pem = *authority->CertificatePem();
  const std::string key = *authority->KeyPem();
  const std::string locked =
      "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMAA=\n"
      "-----END ENCRYPTED PRIVATE KEY-----\n";
  const auto words = [](std::string_view certificate, std::string_view its) {
    const auto loaded = Authority::Load(certificate, its);
    EXPECT_EQ(loaded.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(loaded.status().message());
  };
  EXPECT_THAT(words("", key), HasSubstr("certificate can't be read"));
  EXPECT_THAT(words(pem.substr(0, pem.size() / 2), key),
              HasSubstr("certificate can't be read"));
  EXPECT_THAT(words(pem, ""), HasSubstr("key can't be read"));
  EXPECT_THAT(words(pem, pem), HasSubstr("key can't be read"));
  EXPECT_THAT(words(pem, locked), HasSubstr("key can't be read"));
  EXPECT_THAT(words(pem, *NewAuthority()->KeyPem()), HasSubstr("another key"));

  // A host's own certificate, with its key.
  const auto leaf = *authority->Issue(Host("a.test"));
  BIO* text = ::BIO_new(::BIO_s_mem());
  ::PEM_write_bio_X509(text, ::SSL_CTX_get0_certificate(leaf.get()));
  ::PEM_write_bio_PKCS8PrivateKey(text, ::SSL_CTX_get0_privatekey(leaf.get()),
                                  nullptr, nullptr, 0, nullptr, nullptr);
  char* data = nullptr;
  const long size = BIO_get_mem_data(text, &data);
  const std::string both(data, static_cast<size_t>(size));
  ::BIO_free(text);
  EXPECT_THAT(words(both, both), HasSubstr("CA:TRUE"));
}

TEST(AuthorityTest, KeysAreKeptForHostsThatWereAskedForLast) {
  const auto authority = NewAuthority();
  const auto first = *authority->Issue(Host("first.test"));
  EXPECT_EQ(*authority->Issue(Host("FIRST.test.")), first);
  EXPECT_EQ(authority->kept(), 1u);
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(authority->Issue(Host(absl::StrCat("h", i, ".test"))).ok());
    if (i % 50 == 0) {
      EXPECT_EQ(*authority->Issue(Host("first.test")), first) << i;
    }
    EXPECT_LE(authority->kept(), Authority::kMaxKept);
  }
  EXPECT_EQ(authority->kept(), Authority::kMaxKept);
  EXPECT_EQ(*authority->Issue(Host("first.test")), first);
  for (int i = 0; i < 200; ++i) {
    (void)authority->Issue(Host(absl::StrCat("h", i, ".test")));
  }
  EXPECT_NE(*authority->Issue(Host("first.test")), first);
}

TEST(AuthorityTest, ManyThreadsMayAskAtOnce) {
  const auto authority = NewAuthority();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 300; ++k) {
        EXPECT_TRUE(
            authority->Issue(Host(absl::StrCat("h", k % 150, ".test"))).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(authority->kept(), Authority::kMaxKept);
}

}  // namespace
}  // namespace sandglass::egress
