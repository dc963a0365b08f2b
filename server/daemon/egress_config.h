#ifndef SANDGLASS_SERVER_DAEMON_EGRESS_CONFIG_H_
#define SANDGLASS_SERVER_DAEMON_EGRESS_CONFIG_H_

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "policy/text/json_reader.h"

namespace sandglass::server {

// How programs of profiles with a network reach it.
struct EgressConfig {
  std::string path;  // the sandglass-egress executable
  // Name servers, "address" or "address:port", an IPv6 one in brackets; empty:
  // the host's own.
  std::vector<std::string> resolvers;
  // A directory of root's with a file for each secret; empty: there are none.
  std::string secrets_dir;
  // Certificates in PEM that the proxy trusts beside the host's, as it asks
  // inspected hosts; empty: none.
  std::string ca_file;
};

// The key "egress". What is wrong becomes an error of `root`.
void ReadEgress(policy::JsonObject& root, EgressConfig& egress);
nlohmann::ordered_json EgressToJson(const EgressConfig& egress);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_EGRESS_CONFIG_H_
