#ifndef SANDGLASS_TESTS_SUPPORT_CALLS_IDLE_JAILS_H_
#define SANDGLASS_TESTS_SUPPORT_CALLS_IDLE_JAILS_H_

#include <cstdint>
#include <string>

#include "tests/support/daemon/client.h"

namespace sandglass::testing {

// Jails of one kind that wait now; 0 when the daemon can't be asked.
uint32_t IdleOf(Client& client, const std::string& kind);
// How many runs got one that waited; the same.
uint64_t HitsOf(Client& client, const std::string& kind);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_CALLS_IDLE_JAILS_H_
