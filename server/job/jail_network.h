#ifndef SANDGLASS_SERVER_JOB_JAIL_NETWORK_H_
#define SANDGLASS_SERVER_JOB_JAIL_NETWORK_H_

#include <string>
#include <vector>

#include "policy/language/language.h"
#include "policy/profile/profile.h"
#include "sandbox/wire/network_use.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::server {

// By which variables programs of the profile find the egress proxy in their
// jail; none where it gives them no network. Both cases of each name, since
// tools differ in which one they read.
policy::StringPairs NetworkEnvironment(const policy::Profile& profile);

// The same for a JVM, which reads no such variables: properties, as words of
// its command.
std::vector<std::string> JvmNetwork(const policy::Profile& profile);

// What a program chose in it is made fit for printing.
void FillNetwork(const sandbox::NetworkUse& use, v1::NetworkUse& proto);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_JAIL_NETWORK_H_
