#ifndef SANDGLASS_SANDBOX_SPAWNER_MASKED_PROC_H_
#define SANDGLASS_SANDBOX_SPAWNER_MASKED_PROC_H_

#include <string>
#include <vector>

namespace sandglass::sandbox {

// Finds what a jail hides of its /proc: everything that this kernel has there,
// except processes and a short list of files that programs read. The results
// are absolute paths of files and of directories. Returns false and sets errno
// when /proc can't be listed; then no jail may be made with what was found.
bool FindMaskedProc(std::vector<std::string>& files,
                    std::vector<std::string>& directories);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_MASKED_PROC_H_
