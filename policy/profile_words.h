#ifndef SANDGLASS_POLICY_PROFILE_WORDS_H_
#define SANDGLASS_POLICY_PROFILE_WORDS_H_

#include <string>
#include <vector>

#include "policy/profile.h"

namespace sandglass::policy {

// What a profile means, in plain sentences for people, one thing each.
std::vector<std::string> DescribeProfile(const Profile& profile);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_PROFILE_WORDS_H_
