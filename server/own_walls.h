#ifndef SANDGLASS_SERVER_OWN_WALLS_H_
#define SANDGLASS_SERVER_OWN_WALLS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace sandglass::server {

// What a daemon that is taken over can do to the host is what this leaves: from
// here on this process, and each thread that it makes, executes nothing, makes
// no process, asks only for the system calls of MakeServerFilter, and writes,
// makes and removes files below `directories` alone (those that are there).
// What is open already stays so, and reading is left to the files' modes.
// Without Landlock in the kernel (5.19) the part about files doesn't hold.
// Preconditions: single-threaded; the rights are dropped (no_new_privs).
absl::Status KeepToOwnPlaces(absl::Span<const std::string> directories);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_OWN_WALLS_H_
