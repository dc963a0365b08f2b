#ifndef SANDGLASS_SERVER_DAEMON_LISTEN_CONFIG_H_
#define SANDGLASS_SERVER_DAEMON_LISTEN_CONFIG_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json.hpp"
#include "policy/text/json_reader.h"
#include "server/daemon/config.h"

namespace sandglass::server {

// Where the daemon listens.

// Reads the key "listen", a text or a list of them. Mistakes become errors of
// `root`.
void ReadListen(policy::JsonObject& root, std::vector<std::string>& listen);

// Puts into the configuration what was written: one place in plain text,
// without one the socket in the state directory, and any number with TLS.
// INVALID_ARGUMENT says which text is wrong and why.
absl::Status UseAddresses(const std::vector<std::string>& texts,
                          Config& config);

// INVALID_ARGUMENT when others could connect, but there is no certificate for
// them to see, or no way for them to show who they are; says what to set.
absl::Status CheckTlsAddresses(const Config& config);

nlohmann::ordered_json AddressesToJson(const Config& config);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_LISTEN_CONFIG_H_
