#ifndef SANDGLASS_CLIENT_TOOLBOX_SAVED_OUTPUT_H_
#define SANDGLASS_CLIENT_TOOLBOX_SAVED_OUTPUT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/connection/cancellable_call.h"
#include "client/connection/daemon.h"

namespace sandglass::client {

// Saves output of which a model only gets parts in a file in its sandbox, named
// after `name`. A sandbox's files are part of its memory, so these files may
// have at most 16 MiB together, and the oldest are removed first. Returns the
// file's path.
absl::StatusOr<std::string> SaveOutput(const Daemon& daemon,
                                       const std::string& sandbox_id,
                                       absl::string_view name,
                                       absl::string_view output,
                                       CallCancel& cancel);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_SAVED_OUTPUT_H_
