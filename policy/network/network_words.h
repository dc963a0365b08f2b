#ifndef SANDGLASS_POLICY_NETWORK_NETWORK_WORDS_H_
#define SANDGLASS_POLICY_NETWORK_NETWORK_WORDS_H_

#include <string>
#include <vector>

#include "policy/network/network.h"

namespace sandglass::policy {

// Describes for people in plain sentences what programs may connect to: one
// sentence for each host and one for the limits. Null: nothing.
std::vector<std::string> DescribeNetwork(const NetworkPolicy* network);

// A text such as "*.example.org: ports 80 and 443".
std::string HostAndPorts(const AllowedHost& rule);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_NETWORK_NETWORK_WORDS_H_
