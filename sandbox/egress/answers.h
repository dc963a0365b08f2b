#ifndef SANDGLASS_SANDBOX_EGRESS_ANSWERS_H_
#define SANDGLASS_SANDBOX_EGRESS_ANSWERS_H_

#include <string>
#include <string_view>

#include "sandbox/egress/lease.h"
#include "sandbox/egress/name_table.h"

namespace sandglass::egress {

// Answers a jail's DNS query without asking any server: names that its policy
// allows on any port get an address of the table, only IPv4; all others don't
// exist, so that programs fail at once. Returns "" when there is nothing to
// answer.
std::string AnswerDns(Lease& lease, NameTable& names, std::string_view query);

}  // namespace sandglass::egress

#endif  // SANDGLASS_SANDBOX_EGRESS_ANSWERS_H_
