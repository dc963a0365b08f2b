#ifndef SANDGLASS_SERVER_TLS_TLS_CONFIG_H_
#define SANDGLASS_SERVER_TLS_TLS_CONFIG_H_

#include <string>

#include "nlohmann/json_fwd.hpp"
#include "policy/text/json_reader.h"

namespace sandglass::server {

// The configuration's "tls": what the daemon shows of itself on addresses with
// TLS, and what it asks of its clients. All are paths of PEM files.
struct TlsConfig {
  std::string certificate;  // with its chain; empty: there is no TLS
  std::string key;
  // Authorities that sign clients' certificates; empty: clients aren't asked
  // for one.
  std::string client_ca;
  // Without one a client isn't served, whatever token it has.
  bool client_required = false;
  std::string crl;  // of those authorities; empty: nothing is looked up
  // Not in the file: the program speaks HTTP/1.1 too, with clients that offer
  // it (ALPN), or that offer nothing.
  bool http1 = false;
};

void ReadTlsConfig(policy::JsonObject& root, TlsConfig& config);
nlohmann::ordered_json TlsToJson(const TlsConfig& config);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_TLS_TLS_CONFIG_H_
