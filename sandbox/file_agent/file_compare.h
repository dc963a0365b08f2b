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

// Whether what is moved by way of a copy stays as it is meanwhile.

// Something is not as it was, or will not stay so.
inline constexpr FileResult kChanged = {FileCode::kBusyChanged, 0};

// A lease of the kernel's: who opens the file for writing waits until it is
// closed here. kRefused: somebody has it open for that. kNone is for file
// systems and owners that can have no lease.
enum class Lease { kHeld, kRefused, kNone };
Lease TakeLease(const os::Fd& file);
// Somebody waits for a lease that is held.
bool Awaited(const os::Fd& file);

// As pread(2) of up to os::kFileChunkBytes, which signals don't interrupt.
ssize_t ReadAt(const os::Fd& file, char* data, off_t offset);

// The same kind of file, mode, and size and time if it is a regular one.
bool SameFacts(const struct stat& one, const struct stat& other);
FileResult CompareContent(FileTask& task, const os::Fd& one,
                          const os::Fd& other);

// Whether all in a directory was found, and can be removed: what keeps its
// owner from writing there its owner can change.
bool CanBeEmptied(int at, const char* name, const struct stat& info);

// Finds what a tree can't be moved for, before any of it is copied: something
// that can't be read or removed, or a file that somebody has open for writing.
FileResult InspectTree(FileTask& task, const os::Fd& tree);

// Finds whether a tree is what its copy is, that nobody has a file of it open
// for writing, and that it can be removed. Times of files alone don't tell: two
// changes within one tick of the kernel's clock have the same, and what is
// written by a mapping has none. A file that has been kept from writers since
// an earlier run needs no second look at its content.
class TreeComparison : public TreeVisitor {
 public:
  explicit TreeComparison(FileTask& task) : task_(task) {}

  // The copy has so many names below its directory.
  FileResult Run(const os::Fd& tree, os::Fd copy, uint64_t entries);

  // Whether any file is kept from writers, and one of them waits.
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
