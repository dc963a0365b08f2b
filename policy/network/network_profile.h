#ifndef SANDGLASS_POLICY_NETWORK_NETWORK_PROFILE_H_
#define SANDGLASS_POLICY_NETWORK_NETWORK_PROFILE_H_

#include <memory>
#include <string>

#include "policy/network/network.h"
#include "policy/text/json_reader.h"

namespace sandglass::policy {

// Reads the key "network" of a profile with this name; null for "none" and when
// there is no such key. The result may only be used once the document's
// Finish() and then CheckNetwork have found nothing.
std::shared_ptr<const NetworkPolicy> ReadNetwork(
    JsonObject& profile, const std::string& profile_name);

// Records the problems that Check finds in a result of ReadNetwork, which isn't
// null, each with its place in the file.
void CheckNetwork(const NetworkPolicy& network, JsonObject& profile);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_NETWORK_NETWORK_PROFILE_H_
