#ifndef SANDGLASS_SERVER_DAEMON_EGRESS_CONFIG_H_
#define SANDGLASS_SERVER_DAEMON_EGRESS_CONFIG_H_

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "policy/text/json_reader.h"

namespace sandglass::server {

// How programs of profiles that have a network reach it.
struct EgressConfig {
  std::string path;  // the sandglass-egress executable
  // Name servers in the form "address" or "address:port", an IPv6 address in
  // brackets; empty means those of the host.
  std::vector<std::string> resolvers;
  // A directory of root with one file for each secret; empty when there are
  // none.
  std::string secrets_dir;
  // A PEM file of certificates that the proxy trusts in addition to the host's
  // when it connects to inspected hosts; empty when there are none.
  std::string ca_file;
};

// Reads the key "egress". Mistakes become errors of `root`.
void ReadEgress(policy::JsonObject& root, EgressConfig& egress);
nlohmann::ordered_json EgressToJson(const EgressConfig& egress);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_EGRESS_CONFIG_H_
