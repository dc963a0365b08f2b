#ifndef SANDGLASS_SANDBOX_SPAWNER_MASKED_PROC_H_
#define SANDGLASS_SANDBOX_SPAWNER_MASKED_PROC_H_

#include <string>
#include <vector>

namespace sandglass::sandbox {

// What a jail covers of its /proc: all that this kernel has there but processes
// and a short list of what programs read. Absolute paths of files, and of
// directories. False with errno when /proc can't be listed; then nothing may be
// made with what was found.
bool FindMaskedProc(std::vector<std::string>& files,
                    std::vector<std::string>& directories);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_MASKED_PROC_H_
