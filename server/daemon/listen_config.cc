#include "server/daemon/listen_config.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/base/listen_address.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr char kSocketName[] = "sandglass.sock";

}  // namespace

void ReadListen(policy::JsonObject& root, std::vector<std::string>& listen) {
  if (!root.Has("listen")) return;
  listen = root.IsString("listen")
               ? std::vector<std::string>{root.String("listen")}
               : root.Strings("listen");
  Config tried;
  if (const absl::Status bad = UseAddresses(listen, tried); !bad.ok()) {
    root.AddError("listen", StdView(bad.message()));
  }
}

absl::Status UseAddresses(const std::vector<std::string>& texts,
                          Config& config) {
  config.listen = {.unix_path =
                       absl::StrCat(config.state_dir, "/", kSocketName)};
  bool plain = false;
  for (const std::string& text : texts) {
    absl::StatusOr<ListenAddress> address = ParseListenAddress(text);
    if (!address.ok()) return address.status();
    if (address->tls) {
      config.listen_tls.push_back(*std::move(address));
      continue;
    }
    if (std::exchange(plain, true)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "can't listen on ", Quoted(text, 128), " besides ",
          config.listen.ToString(),
          ": one place may be without TLS, a unix socket or a loopback port; "
          "\"tls:\" before an address of this machine means with TLS"));
    }
    config.listen = *std::move(address);
  }
  return absl::OkStatus();
}

absl::Status CheckTlsAddresses(const Config& config) {
  if (config.listen_tls.empty()) return absl::OkStatus();
  const std::string where = config.listen_tls.front().ToString();
  if (config.tls.certificate.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "can't listen on ", where,
        " without a certificate: set \"tls\": {\"certificate\": ..., \"key\": "
        "...}; sandglass cert makes them"));
  }
  const bool by_certificate =
      !config.tls.client_ca.empty() && (!config.identity.certificates.empty() ||
                                        !config.identity.gateways.empty());
  if (config.identity.tokens_dir.empty() && config.identity.jwt.empty() &&
      !by_certificate) {
    return absl::InvalidArgumentError(absl::StrCat(
        "can't listen on ", where,
        " without a way to tell callers apart: set \"identity\": "
        "{\"tokens_dir\": ...} for tokens, or \"tls\": {\"client_ca\": ...} "
        "and "
        "\"identity\": {\"certificates\": [...]} for certificates"));
  }
  return absl::OkStatus();
}

nlohmann::ordered_json AddressesToJson(const Config& config) {
  if (config.listen_tls.empty()) return config.listen.ToString();
  nlohmann::ordered_json addresses = {config.listen.ToString()};
  for (const ListenAddress& address : config.listen_tls) {
    addresses.push_back(address.ToString());
  }
  return addresses;
}

}  // namespace sandglass::server
