#ifndef SANDGLASS_SERVER_JOB_JAIL_NETWORK_H_
#define SANDGLASS_SERVER_JOB_JAIL_NETWORK_H_

#include <string>
#include <vector>

#include "policy/language/language.h"
#include "policy/profile/profile.h"
#include "sandbox/wire/network_use.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::server {

// The environment variables by which programs of the profile find the egress
// proxy in their jail; none when the profile gives them no network. Each name
// is there in upper and lower case, since tools differ in which one they read.
policy::StringPairs NetworkEnvironment(const policy::Profile& profile);

// The same for a JVM, which doesn't read such variables: properties, as words
// of its command line.
std::vector<std::string> JvmNetwork(const policy::Profile& profile);

// Copies the network use into `proto`, and makes the texts in it that a program
// chose fit for printing.
void FillNetwork(const sandbox::NetworkUse& use, v1::NetworkUse& proto);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_JAIL_NETWORK_H_
