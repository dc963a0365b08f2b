#ifndef SANDGLASS_SANDBOX_FILE_AGENT_FILE_TREES_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_FILE_TREES_H_

#include <cstdint>
#include <string>

#include "sandbox/file_agent/file_task.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// Parts of a copy or a move.

// Makes the directory `name` in the open directory `at`, with everything that
// is below `source`; `entries` counts the names. What was made stays on
// failure.
FileResult CopyDirectory(FileTask& task, const os::Fd& source, int at,
                         const std::string& name, uint64_t& entries);

// Removes a name in `at` that only the agent knows; if it is a directory, with
// everything in it, even where modes of directories would prevent that.
FileResult RemoveOwn(int at, const std::string& name);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_FILE_TREES_H_
