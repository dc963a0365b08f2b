#include "server/identity/jwt.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "sandbox/os/files.h"
#include "server/base/free_by.h"

namespace sandglass::server {
namespace {

using nlohmann::json;
using Key = std::shared_ptr<EVP_PKEY>;

using Number = std::unique_ptr<BIGNUM, FreeBy<BN_free>>;
using Builder = std::unique_ptr<OSSL_PARAM_BLD, FreeBy<OSSL_PARAM_BLD_free>>;
using Params = std::unique_ptr<OSSL_PARAM, FreeBy<OSSL_PARAM_free>>;
using KeyContext = std::unique_ptr<EVP_PKEY_CTX, FreeBy<EVP_PKEY_CTX_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, FreeBy<EVP_MD_CTX_free>>;
using EcSignature = std::unique_ptr<ECDSA_SIG, FreeBy<ECDSA_SIG_free>>;

constexpr size_t kMaxDepth = 8;
constexpr size_t kMaxJwksBytes = 1 << 20;
constexpr size_t kMaxKeys = 64;
constexpr size_t kP256Bytes = 32;
constexpr int kMinRsaBits = 2048;
constexpr int kMaxRsaBits = 8192;

// Base64url without padding, as JOSE has it; nothing else.
std::optional<std::string> Decode(absl::string_view text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isalnum(c) || c == '-' || c == '_';
  });
  std::string bytes;
  if (!plain || !absl::WebSafeBase64Unescape(text, &bytes)) return std::nullopt;
  return bytes;
}

// An object of few levels; nullopt for anything else.
std::optional<json> ParseObject(const std::string& text) {
  bool deep = false;
  const json parsed = json::parse(
      text,
      [&deep](int depth, json::parse_event_t, json&) {
        deep = deep || depth > static_cast<int>(kMaxDepth);
        return !deep;
      },
      /*allow_exceptions=*/false);
  if (deep || !parsed.is_object()) return std::nullopt;
  return parsed;
}

std::string Text(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>()
                                                     : std::string();
}

Number ToNumber(const std::string& bytes) {
  return Number(
      ::BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()), nullptr));
}

Key Build(const char* type, OSSL_PARAM_BLD* builder) {
  const Params params(::OSSL_PARAM_BLD_to_param(builder));
  const KeyContext context(
      ::EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr));
  EVP_PKEY* key = nullptr;
  if (params == nullptr || context == nullptr ||
      ::EVP_PKEY_fromdata_init(context.get()) != 1 ||
      ::EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY,
                          params.get()) != 1) {
    ::ERR_clear_error();
    return nullptr;
  }
  Key built(key, ::EVP_PKEY_free);
  const KeyContext check(::EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
  if (check == nullptr || ::EVP_PKEY_public_check(check.get()) != 1) {
    ::ERR_clear_error();
    return nullptr;
  }
  return built;
}

Key RsaKey(const json& jwk) {
  const auto n = Decode(Text(jwk, "n"));
  const auto e = Decode(Text(jwk, "e"));
  if (!n || !e || n->empty() || e->empty()) return nullptr;
  const Number modulus = ToNumber(*n);
  const Number exponent = ToNumber(*e);
  const int bits = ::BN_num_bits(modulus.get());
  if (bits < kMinRsaBits || bits > kMaxRsaBits) return nullptr;
  const Builder builder(::OSSL_PARAM_BLD_new());
  if (::OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N,
                               modulus.get()) != 1 ||
      ::OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E,
                               exponent.get()) != 1) {
    return nullptr;
  }
  return Build("RSA", builder.get());
}

Key EcKey(const json& jwk) {
  const auto x = Decode(Text(jwk, "x"));
  const auto y = Decode(Text(jwk, "y"));
  if (Text(jwk, "crv") != "P-256" || !x || !y || x->size() != kP256Bytes ||
      y->size() != kP256Bytes) {
    return nullptr;
  }
  const std::string point = absl::StrCat("\x04", *x, *y);
  const Builder builder(::OSSL_PARAM_BLD_new());
  if (::OSSL_PARAM_BLD_push_utf8_string(
          builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) != 1 ||
      ::OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY,
                                         point.data(), point.size()) != 1) {
    return nullptr;
  }
  return Build("EC", builder.get());
}

Key Ed25519Key(const json& jwk) {
  const auto x = Decode(Text(jwk, "x"));
  if (Text(jwk, "crv") != "Ed25519" || !x) return nullptr;
  EVP_PKEY* const key = ::EVP_PKEY_new_raw_public_key(
      EVP_PKEY_ED25519, nullptr,
      reinterpret_cast<const unsigned char*>(x->data()), x->size());
  ::ERR_clear_error();
  return key == nullptr ? nullptr : Key(key, ::EVP_PKEY_free);
}

Key ReadKey(const json& jwk) {
  if (!jwk.is_object()) return nullptr;
  if (const std::string use = Text(jwk, "use"); !use.empty() && use != "sig") {
    return nullptr;
  }
  const std::string type = Text(jwk, "kty");
  if (type == "RSA") return RsaKey(jwk);
  if (type == "EC") return EcKey(jwk);
  if (type == "OKP") return Ed25519Key(jwk);
  return nullptr;
}

// ES256 has both numbers one after the other, OpenSSL wants them in DER.
std::optional<std::string> ToDer(const std::string& signature) {
  if (signature.size() != 2 * kP256Bytes) return std::nullopt;
  const EcSignature pair(::ECDSA_SIG_new());
  Number r = ToNumber(signature.substr(0, kP256Bytes));
  Number s = ToNumber(signature.substr(kP256Bytes));
  if (pair == nullptr || r == nullptr || s == nullptr ||
      ::ECDSA_SIG_set0(pair.get(), r.get(), s.get()) != 1) {
    return std::nullopt;
  }
  (void)r.release();  // the pair's now
  (void)s.release();
  unsigned char* der = nullptr;
  const int size = ::i2d_ECDSA_SIG(pair.get(), &der);
  if (size <= 0) return std::nullopt;
  std::string bytes(reinterpret_cast<const char*>(der),
                    static_cast<size_t>(size));
  ::OPENSSL_free(der);
  return bytes;
}

// Only what the key is for decides how it is used; `algorithm` has to agree.
bool IsSigned(EVP_PKEY* key, const std::string& algorithm,
              absl::string_view text, std::string signature) {
  const EVP_MD* hash = ::EVP_sha256();
  switch (::EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
      if (algorithm != "RS256") return false;
      break;
    case EVP_PKEY_EC: {
      if (algorithm != "ES256") return false;
      std::optional<std::string> der = ToDer(signature);
      if (!der.has_value()) return false;
      signature = *std::move(der);
      break;
    }
    case EVP_PKEY_ED25519:
      if (algorithm != "EdDSA") return false;
      hash = nullptr;
      break;
    default:
      return false;
  }
  const Digest digest(::EVP_MD_CTX_new());
  const bool good =
      digest != nullptr &&
      ::EVP_DigestVerifyInit(digest.get(), nullptr, hash, nullptr, key) == 1 &&
      ::EVP_DigestVerify(
          digest.get(),
          reinterpret_cast<const unsigned char*>(signature.data()),
          signature.size(), reinterpret_cast<const unsigned char*>(text.data()),
          text.size()) == 1;
  ::ERR_clear_error();
  return good;
}

// A claim that is a number of seconds since 1970; nullopt when it isn't there
// or is something else.
std::optional<absl::Time> TimeOf(const json& claims, const char* name) {
  constexpr double kLatest = 1e11;
  const auto found = claims.find(name);
  if (found == claims.end() || !found->is_number()) return std::nullopt;
  const double seconds = found->get<double>();
  if (!(seconds >= 0 && seconds < kLatest)) return std::nullopt;
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

bool IsNow(const json& claims, absl::Time now) {
  const std::optional<absl::Time> end = TimeOf(claims, "exp");
  if (!end.has_value() || *end + kJwtLeeway <= now) return false;
  for (const char* name : {"nbf", "iat"}) {
    if (!claims.contains(name)) continue;
    const std::optional<absl::Time> begin = TimeOf(claims, name);
    if (!begin.has_value() || *begin - kJwtLeeway > now) return false;
  }
  return true;
}

bool IsFor(const json& claims, const std::string& audience) {
  const auto found = claims.find("aud");
  if (found == claims.end()) return false;
  if (found->is_string()) return *found == audience;
  return found->is_array() &&
         std::any_of(found->begin(), found->end(),
                     [&](const json& each) { return each == audience; });
}

std::string TenantOf(const JwtIssuer& issuer, const json& claims) {
  if (issuer.tenant_claim.empty()) return issuer.tenant;
  const json::json_pointer pointer(issuer.tenant_claim);
  if (!claims.contains(pointer)) return "";
  const json& value = claims.at(pointer);
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace

absl::StatusOr<PublicKeys> ReadJwks(const std::string& path,
                                    const std::string& text) {
  const auto wrong = [&path](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", why));
  };
  if (text.size() > kMaxJwksBytes) return wrong("has over 1 MiB");
  const std::optional<json> set = ParseObject(text);
  if (!set.has_value() || !set->contains("keys") ||
      !(*set)["keys"].is_array()) {
    return wrong("is no JWK set: an object with a list \"keys\"");
  }
  PublicKeys keys;
  for (const json& jwk : (*set)["keys"]) {
    Key key = ReadKey(jwk);
    if (key == nullptr) continue;
    const std::string kid = Text(jwk, "kid");
    if (!keys.emplace(kid, std::move(key)).second) {
      return wrong(absl::StrCat("has two keys with the kid \"",
                                absl::CHexEscape(kid.substr(0, 64)), "\""));
    }
  }
  if (keys.size() > kMaxKeys) return wrong("has more than 64 keys");
  if (keys.empty()) {
    return wrong(
        "has no key that can be used: RSA of 2048 to 8192 bits, EC on P-256 or "
        "Ed25519, for signatures");
  }
  return keys;
}

absl::StatusOr<std::unique_ptr<JwtVerifier>> JwtVerifier::Make(
    std::vector<JwtIssuer> issuers) {
  std::unique_ptr<JwtVerifier> verifier(new JwtVerifier(std::move(issuers)));
  {
    absl::MutexLock lock(&verifier->mutex_);
    verifier->keys_.resize(verifier->issuers_.size());
  }
  if (absl::Status read = verifier->Refresh(); !read.ok()) return read;
  return verifier;
}

absl::Status JwtVerifier::Refresh() {
  absl::Status first;
  for (size_t i = 0; i < issuers_.size(); ++i) {
    const std::string& path = issuers_[i].jwks;
    absl::StatusOr<std::string> text = os::ReadWholeFile(path);
    if (text.ok() && *text == texts_[i]) continue;
    absl::StatusOr<PublicKeys> keys =
        text.ok() ? ReadJwks(path, *text)
                  : absl::StatusOr<PublicKeys>(absl::InvalidArgumentError(
                        absl::StrCat(path, ": ", text.status().message())));
    if (!keys.ok()) {
      first.Update(keys.status());
      continue;
    }
    texts_[i] = *std::move(text);
    absl::MutexLock lock(&mutex_);
    keys_[i] = *std::move(keys);
  }
  return first;
}

std::shared_ptr<EVP_PKEY> JwtVerifier::KeyOf(size_t issuer,
                                             const std::string& kid) const {
  absl::MutexLock lock(&mutex_);
  const PublicKeys& keys = keys_[issuer];
  // Without a name it can only be the only one.
  if (kid.empty() && keys.size() == 1) return keys.begin()->second;
  const auto found = keys.find(kid);
  return found == keys.end() ? nullptr : found->second;
}

std::optional<Identity> JwtVerifier::Find(absl::string_view jwt,
                                          absl::Time now) const {
  const std::vector<absl::string_view> parts = absl::StrSplit(jwt, '.');
  if (parts.size() != 3) return std::nullopt;
  const std::optional<std::string> head = Decode(parts[0]);
  const std::optional<std::string> body = Decode(parts[1]);
  const std::optional<std::string> signature = Decode(parts[2]);
  if (!head || !body || !signature) return std::nullopt;
  const std::optional<json> header = ParseObject(*head);
  const std::optional<json> claims = ParseObject(*body);
  // What "crit" names would have to be understood, and nothing of it is.
  if (!header || !claims || header->contains("crit")) return std::nullopt;
  const std::string name = Text(*claims, "iss");
  const auto issuer = std::ranges::find(issuers_, name, &JwtIssuer::issuer);
  if (name.empty() || issuer == issuers_.end()) return std::nullopt;
  const Key key = KeyOf(static_cast<size_t>(issuer - issuers_.begin()),
                        Text(*header, "kid"));
  const absl::string_view text =
      jwt.substr(0, parts[0].size() + 1 + parts[1].size());
  if (key == nullptr ||
      !IsSigned(key.get(), Text(*header, "alg"), text, *signature) ||
      !IsNow(*claims, now) || !IsFor(*claims, issuer->audience)) {
    return std::nullopt;
  }
  const std::string tenant = TenantOf(*issuer, *claims);
  const std::string principal = Text(*claims, "sub");
  if (!IsTenantName(tenant) || !IsPrincipalName(tenant, principal)) {
    return std::nullopt;
  }
  Identity identity{.name = NameOf(tenant, principal)};
  identity.tenant = tenant;
  identity.scopes = issuer->scopes;
  identity.proof = Proof::kJwt;
  identity.expires = *TimeOf(*claims, "exp");
  return identity;
}

}  // namespace sandglass::server
