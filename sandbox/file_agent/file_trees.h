#ifndef SANDGLASS_SANDBOX_FILE_AGENT_FILE_TREES_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_FILE_TREES_H_

#include <cstdint>
#include <string>

#include "sandbox/file_agent/file_task.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// Steps of a copy or a move.

// Makes the directory `name` in the open directory `at`, with all that is below
// `source`: `entries` names. What was made stays when it fails.
FileResult CopyDirectory(FileTask& task, const os::Fd& source, int at,
                         const std::string& name, uint64_t& entries);

// Removes what `at` has by a name that only the agent knows, a directory with
// all that is in it: also what only the modes of directories are against.
FileResult RemoveOwn(int at, const std::string& name);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_FILE_TREES_H_
