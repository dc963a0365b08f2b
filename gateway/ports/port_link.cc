#include "gateway/ports/port_link.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "policy/text/views.h"

namespace sandglass::gateway {
namespace {

using nlohmann::json;
using policy::AbslView;

// So that nothing that is signed for another purpose is a link.
constexpr char kPurpose[] = "sandglass port link 1\n";

}  // namespace

absl::StatusOr<LinkSigner> LinkSigner::Make(std::string key) {
  if (key.size() < kMinKeyBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", key.size(),
                     " bytes, and a key for links has at "
                     "least ",
                     kMinKeyBytes, ": make one with head -c 32 /dev/urandom"));
  }
  return LinkSigner(std::move(key));
}

std::string LinkSigner::Mac(std::string_view payload) const {
  const std::string text = absl::StrCat(kPurpose, AbslView(payload));
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned size = 0;
  ::HMAC(::EVP_sha256(), key_.data(), static_cast<int>(key_.size()),
         reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         mac.data(), &size);
  return {reinterpret_cast<const char*>(mac.data()), size};
}

std::string LinkSigner::Sign(const PortLink& link) const {
  const json payload = {link.session,
                        link.port,
                        absl::ToUnixSeconds(link.expires),
                        link.caller.tenant,
                        std::string(link.caller.principal()),
                        static_cast<int>(link.caller.proof),
                        link.caller.token_id,
                        link.caller.profiles};
  const std::string text = absl::WebSafeBase64Escape(payload.dump());
  return absl::StrCat(text, ".", absl::WebSafeBase64Escape(Mac(text)));
}

std::optional<PortLink> LinkSigner::Read(std::string_view text,
                                         absl::Time now) const {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  std::string mac;
  const std::string_view signed_part = text.substr(0, dot);
  const std::string own = Mac(signed_part);
  std::string payload;
  if (!absl::WebSafeBase64Unescape(AbslView(text.substr(dot + 1)), &mac) ||
      mac.size() != own.size() ||
      ::CRYPTO_memcmp(mac.data(), own.data(), own.size()) != 0 ||
      !absl::WebSafeBase64Unescape(AbslView(signed_part), &payload)) {
    return std::nullopt;
  }
  // Signed by us, and yet of another version, perhaps.
  const json parts = json::parse(payload, nullptr, /*allow_exceptions=*/false);
  constexpr size_t kParts = 8;
  if (!parts.is_array() || parts.size() != kParts || !parts[0].is_string() ||
      !parts[1].is_number_unsigned() || !parts[2].is_number() ||
      !parts[3].is_string() || !parts[4].is_string() ||
      !parts[5].is_number_unsigned() || !parts[6].is_string() ||
      !parts[7].is_array()) {
    return std::nullopt;
  }
  PortLink link;
  link.session = parts[0];
  link.port = parts[1];
  link.expires = absl::FromUnixSeconds(parts[2]);
  if (link.expires <= now) return std::nullopt;
  server::Identity& caller = link.caller;
  caller.tenant = parts[3];
  caller.name = server::NameOf(caller.tenant, parts[4].get<std::string>());
  caller.proof = static_cast<server::Proof>(parts[5].get<int>());
  caller.token_id = parts[6];
  for (const json& profile : parts[7]) {
    if (!profile.is_string()) return std::nullopt;
    caller.profiles.push_back(profile);
  }
  caller.scopes = {server::Scope::kExec};
  caller.expires = link.expires;
  return link;
}

}  // namespace sandglass::gateway
