#ifndef SANDGLASS_TESTS_SUPPORT_HOST_ANCESTOR_H_
#define SANDGLASS_TESTS_SUPPORT_HOST_ANCESTOR_H_

#include <optional>
#include <string_view>

#include "tests/support/host/process.h"

namespace sandglass::testing {

// The nearest process above this one that has this name (/proc/<pid>/comm, at
// most 15 bytes); nothing when there is none.
std::optional<Process> AncestorNamed(const Process& process,
                                     std::string_view name);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_HOST_ANCESTOR_H_
