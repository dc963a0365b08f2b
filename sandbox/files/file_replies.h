#ifndef SANDGLASS_SANDBOX_FILES_FILE_REPLIES_H_
#define SANDGLASS_SANDBOX_FILES_FILE_REPLIES_H_

#include <cstdint>
#include <vector>

#include "internal/files.pb.h"
#include "sandbox/files/file_agent_channel.h"
#include "sandbox/files/file_types.h"

namespace sandglass::sandbox {

// What an honest agent answers with, and what is taken from it.

FileFacts FactsOf(internal::FileInfo& info);

// An operation with one short answer and no descriptor.
FileAgentChannel::Check OnlyLast();
// UnpackTree: the same with members that are missing.
FileAgentChannel::Check OnlyMissing();
// OpenFile: a descriptor of a regular file, open for reading.
FileAgentChannel::Check OneFile();
// At most so many entries, in as many replies as it takes. `names`: each is a
// name, not a path.
enum class EntryNames { kNames, kPaths };
FileAgentChannel::Check Entries(uint64_t most, EntryNames names);
// At most so many lines.
FileAgentChannel::Check Lines(uint64_t most);
// Changes with files as TrackTree has them, in any number: each look is bounded
// by `most`.
FileAgentChannel::Check Changes(uint64_t most, bool with_files);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILES_FILE_REPLIES_H_
