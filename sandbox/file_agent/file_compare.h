#ifndef SANDGLASS_SANDBOX_FILE_AGENT_FILE_COMPARE_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_FILE_COMPARE_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "sandbox/file_agent/file_task.h"
#include "sandbox/file_agent/tree_walk.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// Checks that what is moved by way of a copy doesn't change meanwhile.

// Something has changed since it was read, or is about to.
inline constexpr FileResult kChanged = {FileCode::kBusyChanged, 0};

// Takes a lease from the kernel: a process that opens the file for writing then
// has to wait until the file is closed here. kRefused: some process has it open
// for writing already. kNone: the file system or the owner can't have leases.
enum class Lease { kHeld, kRefused, kNone };
Lease AcquireLease(const os::Fd& file);
// Whether some process waits for a lease that is held.
bool Awaited(const os::Fd& file);

// As pread(2) of up to os::kFileChunkBytes, which signals don't interrupt.
ssize_t ReadAt(const os::Fd& file, char* data, off_t offset);

// Whether kind and mode are the same and, for regular files, size and time.
bool SameFacts(const struct stat& one, const struct stat& other);
FileResult CompareContent(FileTask& task, const os::Fd& one,
                          const os::Fd& other);

// Whether everything in a directory could be found and removed. Where the owner
// lacks the right to write there, the owner can still change the mode.
bool CanBeEmptied(int at, const char* name, const struct stat& info);

// Finds reasons why a tree can't be moved before any of it is copied: something
// that can't be read or removed, or a file that some process has open for
// writing.
FileResult InspectTree(FileTask& task, const os::Fd& tree);

// Checks that a tree is the same as its copy, that no process has a file in it
// open for writing, and that it can be removed. The times of files alone don't
// suffice: two changes within one tick of the kernel's clock have the same
// time, and writing through a mapping sets none. A file that has been kept from
// writers since an earlier run isn't compared again.
class TreeComparison : public TreeVisitor {
 public:
  explicit TreeComparison(FileTask& task) : task_(task) {}

  // Compares the trees. The copy has `entries` names below its directory.
  FileResult Run(const os::Fd& tree, os::Fd copy, uint64_t entries);

  // Whether any file is kept from writers, and whether a writer waits for one.
  bool leased() const { return !leased_.empty(); }
  bool awaited() const;

  Next Enter(const TreeEntry& entry) override;
  bool Unreadable(absl::string_view path, int error) override;

 private:
  FileResult Compare(const TreeEntry& entry, const std::string& path);

  FileTask& task_;
  os::Fd copy_;
  std::map<std::string, os::Fd> leased_;  // by path
  uint64_t entries_ = 0;
  FileResult result_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_FILE_COMPARE_H_
