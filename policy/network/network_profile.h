#ifndef SANDGLASS_POLICY_NETWORK_NETWORK_PROFILE_H_
#define SANDGLASS_POLICY_NETWORK_NETWORK_PROFILE_H_

#include <memory>
#include <string>

#include "policy/network/network.h"
#include "policy/text/json_reader.h"

namespace sandglass::policy {

// Of a profile with this name, "network"; null for "none" and where there is no
// such key. What it returns means something only once the document's Finish()
// and then CheckNetwork found nothing.
std::shared_ptr<const NetworkPolicy> ReadNetwork(
    JsonObject& profile, const std::string& profile_name);

// Records what Check finds in what ReadNetwork returned, which isn't null, with
// its place in the file.
void CheckNetwork(const NetworkPolicy& network, JsonObject& profile);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_NETWORK_NETWORK_PROFILE_H_
