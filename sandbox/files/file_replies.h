#ifndef SANDGLASS_SANDBOX_FILES_FILE_REPLIES_H_
#define SANDGLASS_SANDBOX_FILES_FILE_REPLIES_H_

#include <cstdint>

#include "internal/files.pb.h"
#include "sandbox/files/file_agent_channel.h"
#include "sandbox/files/file_types.h"

namespace sandglass::sandbox {

// What a correct agent's answers look like, and how they are converted.

FileFacts FactsOf(internal::FileInfo& info);

// For operations with one short answer and no descriptor.
FileAgentChannel::Check OnlyLast();
// For UnpackTree: the same, with the members that are missing.
FileAgentChannel::Check OnlyMissing();
// For OpenFile: a descriptor of a regular file, open for reading.
FileAgentChannel::Check OneFile();
// For ConnectPort: a descriptor of a socket of TCP.
FileAgentChannel::Check OneSocket();
// At most `max` entries, in as many replies as it takes. `names` says whether
// each is a name or a path.
enum class EntryNames { kNames, kPaths };
FileAgentChannel::Check Entries(uint64_t max, EntryNames names);
// At most `max` lines.
FileAgentChannel::Check Lines(uint64_t max);
// Changes with files as TrackTree reports them, in any number: `max` bounds
// each comparison, not their sum.
FileAgentChannel::Check Changes(uint64_t max, bool with_files);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILES_FILE_REPLIES_H_
