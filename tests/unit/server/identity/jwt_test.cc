#include "server/identity/jwt.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

using nlohmann::json;
using ::sandglass::testing::TempDir;
using ::testing::HasSubstr;
using PrivateKey = std::shared_ptr<EVP_PKEY>;

std::string Encode(const std::string& bytes) {
  std::string text = absl::WebSafeBase64Escape(bytes);
  return text.substr(0, text.find_last_not_of('=') + 1);
}

std::string Parameter(EVP_PKEY* key, const char* name, size_t size = 0) {
  BIGNUM* number = nullptr;
  EXPECT_EQ(::EVP_PKEY_get_bn_param(key, name, &number), 1) << name;
  std::string bytes(size == 0 ? BN_num_bytes(number) : size, '\0');
  ::BN_bn2binpad(number, reinterpret_cast<unsigned char*>(bytes.data()),
                 static_cast<int>(bytes.size()));
  ::BN_free(number);
  return Encode(bytes);
}

// A key, how it signs, and what others are told of it.
struct Signer {
  std::string algorithm;
  PrivateKey key;
  json jwk;

  static Signer Rsa(const std::string& kid, unsigned bits = 2048) {
    Signer signer{"RS256",
                  PrivateKey(EVP_RSA_gen(bits), ::EVP_PKEY_free),
                  {{"kty", "RSA"}, {"kid", kid}, {"use", "sig"}}};
    signer.jwk["n"] = Parameter(signer.key.get(), OSSL_PKEY_PARAM_RSA_N);
    signer.jwk["e"] = Parameter(signer.key.get(), OSSL_PKEY_PARAM_RSA_E);
    return signer;
  }
  static Signer Ec(const std::string& kid) {
    Signer signer{"ES256",
                  PrivateKey(EVP_EC_gen("P-256"), ::EVP_PKEY_free),
                  {{"kty", "EC"}, {"kid", kid}, {"crv", "P-256"}}};
    signer.jwk["x"] = Parameter(signer.key.get(), OSSL_PKEY_PARAM_EC_PUB_X, 32);
    signer.jwk["y"] = Parameter(signer.key.get(), OSSL_PKEY_PARAM_EC_PUB_Y, 32);
    return signer;
  }
  static Signer Ed(const std::string& kid) {
    Signer signer{"EdDSA",
                  PrivateKey(::EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"),
                             ::EVP_PKEY_free),
                  {{"kty", "OKP"}, {"kid", kid}, {"crv", "Ed25519"}}};
    std::string raw(32, '\0');
    size_t size = raw.size();
    ::EVP_PKEY_get_raw_public_key(
        signer.key.get(), reinterpret_cast<unsigned char*>(raw.data()), &size);
    signer.jwk["x"] = Encode(raw);
    return signer;
  }

  json Header() const {
    return {{"alg", algorithm}, {"kid", jwk.value("kid", "")}};
  }
  std::string Sign(const json& claims) const { return Sign(claims, Header()); }
  std::string Sign(const json& claims, const json& header) const {
    const std::string text =
        absl::StrCat(Encode(header.dump()), ".", Encode(claims.dump()));
    return absl::StrCat(text, ".", Encode(Signature(text)));
  }
  std::string Signature(const std::string& text) const {
    EVP_MD_CTX* context = ::EVP_MD_CTX_new();
    ::EVP_DigestSignInit(context, nullptr,
                         algorithm == "EdDSA" ? nullptr : ::EVP_sha256(),
                         nullptr, key.get());
    const auto* data = reinterpret_cast<const unsigned char*>(text.data());
    size_t size = 0;
    ::EVP_DigestSign(context, nullptr, &size, data, text.size());
    std::string bytes(size, '\0');
    ::EVP_DigestSign(context, reinterpret_cast<unsigned char*>(bytes.data()),
                     &size, data, text.size());
    ::EVP_MD_CTX_free(context);
    bytes.resize(size);
    if (algorithm != "ES256") return bytes;
    const auto* der = reinterpret_cast<const unsigned char*>(bytes.data());
    ECDSA_SIG* pair = ::d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(size));
    std::string both(64, '\0');
    auto* out = reinterpret_cast<unsigned char*>(both.data());
    ::BN_bn2binpad(::ECDSA_SIG_get0_r(pair), out, 32);
    ::BN_bn2binpad(::ECDSA_SIG_get0_s(pair), out + 32, 32);
    ::ECDSA_SIG_free(pair);
    return both;
  }
};

class JwtTest : public ::testing::Test {
 protected:
  JwtTest() { Publish({rsa_, ec_, ed_}); }

  void Publish(const std::vector<Signer>& signers) const {
    json set = {{"keys", json::array()}};
    for (const Signer& signer : signers) set["keys"].push_back(signer.jwk);
    Write(set.dump());
  }
  void Write(const std::string& text) const {
    std::ofstream(dir_.Path("jwks")) << text;
  }
  json Claims() const {
    const int64_t now = absl::ToUnixSeconds(now_);
    return {{"iss", "https://issuer.test"},
            {"aud", {"other", "sandglass"}},
            {"sub", "system:serviceaccount:team-a:ci"},
            {"iat", now - 10},
            {"nbf", now - 10},
            {"exp", now + 3600},
            {"kubernetes.io", {{"namespace", "team-a"}}}};
  }
  json With(const char* claim, const json& value) const {
    json claims = Claims();
    claims[claim] = value;
    return claims;
  }
  json Without(const char* claim) const {
    json claims = Claims();
    claims.erase(claim);
    return claims;
  }
  JwtVerifier& verifier() {
    if (verifier_ == nullptr) {
      auto made =
          JwtVerifier::Make({{.issuer = "https://issuer.test",
                              .audience = "sandglass",
                              .jwks = dir_.Path("jwks"),
                              .tenant_claim = "/kubernetes.io/namespace",
                              .scopes = {Scope::kRun}}});
      EXPECT_TRUE(made.ok()) << made.status();
      verifier_ = *std::move(made);
    }
    return *verifier_;
  }
  bool Right(const std::string& jwt) {
    return verifier().Find(jwt, now_).has_value();
  }

  TempDir dir_;
  const absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  const Signer rsa_ = Signer::Rsa("r");
  const Signer ec_ = Signer::Ec("e");
  const Signer ed_ = Signer::Ed("d");
  std::unique_ptr<JwtVerifier> verifier_;
};

TEST_F(JwtTest, ClaimsSayWhoCalls) {
  for (const Signer& signer : {rsa_, ec_, ed_}) {
    const auto identity = verifier().Find(signer.Sign(Claims()), now_);
    ASSERT_TRUE(identity.has_value()) << signer.algorithm;
    EXPECT_EQ(identity->tenant, "team-a");
    EXPECT_EQ(identity->principal(), "system:serviceaccount:team-a:ci");
    EXPECT_EQ(identity->proof, Proof::kJwt);
    EXPECT_EQ(identity->scopes, Scopes{Scope::kRun});
    EXPECT_EQ(identity->expires, now_ + absl::Hours(1));
  }
  EXPECT_TRUE(Right(ec_.Sign(With("aud", "sandglass"))));
}

TEST_F(JwtTest, ClaimsThatAreWrongOrNotThereAreRefused) {
  const int64_t now = absl::ToUnixSeconds(now_);
  for (const json& bad : {With("iss", "https://other.test"),
                          Without("iss"),
                          With("aud", "other"),
                          With("aud", json::array()),
                          With("aud", 7),
                          Without("aud"),
                          With("exp", now - 31),
                          Without("exp"),
                          With("exp", "soon"),
                          With("exp", -1),
                          With("exp", 1e300),
                          With("nbf", now + 31),
                          With("iat", now + 31),
                          With("iat", "now"),
                          With("sub", ""),
                          With("sub", "a b"),
                          Without("sub"),
                          With("sub", std::string(129, 'a')),
                          Without("kubernetes.io"),
                          With("kubernetes.io", {{"namespace", "Team A"}}),
                          With("kubernetes.io", {{"namespace", 7}}),
                          With("kubernetes.io", "team-a")}) {
    EXPECT_FALSE(Right(ec_.Sign(bad))) << bad.dump();
  }
  // Clocks differ.
  EXPECT_TRUE(Right(ec_.Sign(With("exp", now - 29))));
  EXPECT_TRUE(Right(ec_.Sign(With("iat", now + 29))));
  EXPECT_TRUE(Right(ec_.Sign(With("more", std::string(10 << 10, 'x')))));
}

TEST_F(JwtTest, OnlyTheKeyItselfDecidesHowItIsUsed) {
  json header = rsa_.Header();
  header["alg"] = "none";
  EXPECT_FALSE(Right(rsa_.Sign(Claims(), header)));
  const std::string text =
      absl::StrCat(Encode(header.dump()), ".", Encode(Claims().dump()));
  EXPECT_FALSE(Right(text + "."));
  // As if the public key were a password.
  header["alg"] = "HS256";
  EXPECT_FALSE(Right(rsa_.Sign(Claims(), header)));
  header = ec_.Header();
  header["alg"] = "RS256";
  EXPECT_FALSE(Right(ec_.Sign(Claims(), header)));
  header = ec_.Header();
  header["crit"] = {"b64"};
  EXPECT_FALSE(Right(ec_.Sign(Claims(), header)));
  header = ec_.Header();
  header["kid"] = "nobody's";
  EXPECT_FALSE(Right(ec_.Sign(Claims(), header)));
  header["kid"] = "r";
  EXPECT_FALSE(Right(ec_.Sign(Claims(), header)));
  header.erase("kid");
  EXPECT_FALSE(Right(ec_.Sign(Claims(), header)));
  // A stranger's, by the name of ours.
  EXPECT_FALSE(Right(Signer::Ec("e").Sign(Claims())));
}

TEST_F(JwtTest, NothingElseIsOne) {
  const std::string good = ec_.Sign(Claims());
  ASSERT_TRUE(Right(good));
  std::string changed = good;
  const size_t dot = good.find('.');
  changed[dot + 5] = changed[dot + 5] == 'A' ? 'B' : 'A';
  std::string deep(200, '[');
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."), changed, good + ".",
        good + "=", good.substr(0, good.size() - 2), good + "A",
        absl::StrCat(" ", good), good.substr(0, good.rfind('.')),
        absl::StrCat(Encode(deep), ".", Encode(deep), ".AA"),
        absl::StrCat(Encode("[]"), ".", Encode("7"), ".AA"),
        std::string(8000, 'a'), std::string(8000, '.')}) {
    EXPECT_FALSE(Right(bad)) << bad.substr(0, 80);
  }
}

TEST_F(JwtTest, OtherKeysCountFromTheNextLookOn) {
  const Signer next = Signer::Ec("n");
  EXPECT_TRUE(Right(ec_.Sign(Claims())));
  Publish({next});
  EXPECT_TRUE(verifier().Refresh().ok());
  EXPECT_FALSE(Right(ec_.Sign(Claims())));
  EXPECT_TRUE(Right(next.Sign(Claims())));
  // The only key needs no name.
  EXPECT_TRUE(Right(next.Sign(Claims(), {{"alg", "ES256"}})));
  for (const char* bad : {"", "{}", "{\"keys\": 7}", "{\"keys\": []}"}) {
    Write(bad);
    EXPECT_FALSE(verifier().Refresh().ok()) << bad;
    EXPECT_TRUE(Right(next.Sign(Claims())));
  }
}

TEST(ReadJwks, TakesOnlyKeysThatAreStrongEnoughAndForSignatures) {
  const auto read = [](const json& jwk) {
    return ReadJwks("/jwks", json{{"keys", {jwk}}}.dump());
  };
  const Signer ec = Signer::Ec("e");
  EXPECT_EQ(read(ec.jwk)->size(), 1u);
  EXPECT_FALSE(read(Signer::Rsa("weak", 1024).jwk).ok());
  json jwk = ec.jwk;
  jwk["use"] = "enc";
  EXPECT_FALSE(read(jwk).ok());
  jwk = ec.jwk;
  jwk["y"] = jwk["x"];  // not on the curve
  EXPECT_FALSE(read(jwk).ok());
  jwk = ec.jwk;
  jwk["crv"] = "P-384";
  EXPECT_FALSE(read(jwk).ok());
  EXPECT_FALSE(read({{"kty", "oct"}, {"k", "c2VjcmV0"}}).ok());
  EXPECT_FALSE(read(7).ok());
  const auto twice = ReadJwks("/jwks", json{{"keys", {ec.jwk, ec.jwk}}}.dump());
  EXPECT_THAT(std::string(twice.status().message()),
              HasSubstr("/jwks: has two keys with the kid \"e\""));
}

}  // namespace
}  // namespace sandglass::server
