#ifndef SANDGLASS_SANDBOX_SPAWNER_MASKED_PROC_H_
#define SANDGLASS_SANDBOX_SPAWNER_MASKED_PROC_H_

#include <string>
#include <vector>

namespace sandglass::sandbox {

// What a jail covers of its /proc, as far as this kernel has it: absolute paths
// of files, and of directories.
void FindMaskedProc(std::vector<std::string>& files,
                    std::vector<std::string>& directories);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_MASKED_PROC_H_
