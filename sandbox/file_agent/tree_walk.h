#ifndef SANDGLASS_SANDBOX_FILE_AGENT_TREE_WALK_H_
#define SANDGLASS_SANDBOX_FILE_AGENT_TREE_WALK_H_

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sandbox/os/fd.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::sandbox {

// One name in a tree.
struct TreeEntry {
  int directory;  // an open directory that holds it
  const std::string& name;
  absl::string_view path;  // relative to the start
  struct stat info;        // of the entry itself, not of a link's target
  size_t depth;            // 0: directly in the start
};

class TreeVisitor {
 public:
  enum class Next { kGoOn, kSkip, kStop };

  virtual ~TreeVisitor() = default;
  // Called for each entry, in the order of the names' bytes, for a directory
  // before what is in it. kSkip: don't enter this directory.
  virtual Next Enter(const TreeEntry& entry) = 0;
  // Called for each directory that was entered, after everything in it. False:
  // stop.
  virtual bool Leave(const TreeEntry& /*entry*/) { return true; }
  // Called for a directory that can't be read; `error` is an errno. False:
  // stop.
  virtual bool Unreadable(absl::string_view /*path*/, int /*error*/) {
    return true;
  }
};

enum class WalkEnd {
  kWhole,
  kStopped,  // by the visitor
  kBound,    // more entries than allowed; the rest left out
  kMoved,    // a directory was moved away during the walk
};

// Visits everything below `start`. Trees may be of any depth: a level costs
// some memory, but neither stack nor a descriptor. Follows no links, and
// doesn't enter the kernel's own file systems.
// kLend: a directory that its owner can't read only because of its mode is made
// readable during the visit; afterwards the mode is restored.
enum class OwnRights { kAsTheyAre, kLend };
WalkEnd WalkTree(const os::Fd& start, size_t max_entries, TreeVisitor& visitor,
                 OwnRights rights = OwnRights::kAsTheyAre);

// Opens a regular file as OpenRegularAt does. If only the mode prevents its
// owner from reading it, the mode is changed for that moment.
FileResult OpenOwnRegularAt(int directory, const char* name, os::Fd& file,
                            struct stat& info);

// Reads the names in a directory, sorted, without "." and "..". If there are
// more than `max`, it stops there and sets `more`. Returns false and sets
// errno on failure.
bool ReadNames(const os::Fd& directory, size_t max,
               std::vector<std::string>& names, bool& more);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_TREE_WALK_H_
