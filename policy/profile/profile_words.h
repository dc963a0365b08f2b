#ifndef SANDGLASS_POLICY_PROFILE_PROFILE_WORDS_H_
#define SANDGLASS_POLICY_PROFILE_PROFILE_WORDS_H_

#include <string>
#include <vector>

#include "policy/profile/profile.h"

namespace sandglass::policy {

// Describes a profile for people, in plain sentences about one thing each.
//
// `no_disk_cap` is the reason why caps of disk I/O aren't in force on this
// host; empty: they are in force.
std::vector<std::string> DescribeProfile(const Profile& profile,
                                         const std::string& no_disk_cap = "");

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_PROFILE_PROFILE_WORDS_H_
