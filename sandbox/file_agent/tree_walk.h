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
  absl::string_view path;  // below the start
  struct stat info;        // of itself, not of what a link leads to
  size_t depth;            // 0: directly in the start
};

class TreeVisitor {
 public:
  enum class Next { kGoOn, kSkip, kStop };

  virtual ~TreeVisitor() = default;
  // Each entry, in the order of the names' bytes; a directory before what it
  // holds. kSkip: not into this one.
  virtual Next Enter(const TreeEntry& entry) = 0;
  // A directory that was gone into, behind all that it holds. False: stop.
  virtual bool Leave(const TreeEntry& /*entry*/) { return true; }
  // A directory that can't be read; `error` is an errno. False: stop.
  virtual bool Unreadable(absl::string_view /*path*/, int /*error*/) {
    return true;
  }
};

enum class WalkEnd {
  kWhole,
  kStopped,  // by the visitor
  kBound,    // there were more entries, which were left out
  kMoved,    // a directory was moved away below the walk's feet
};

// Visits all below `start`. Trees may be as deep as they like: one level costs
// some memory, neither stack nor a descriptor. Goes neither through links nor
// into the kernel's own file systems.
// kLend: what only its mode keeps its owner from reading can be read during the
// visit; the mode is as before afterwards.
enum class OwnRights { kAsTheyAre, kLend };
WalkEnd WalkTree(const os::Fd& start, size_t max_entries, TreeVisitor& visitor,
                 OwnRights rights = OwnRights::kAsTheyAre);

// Opens a regular file as OpenRegularAt does, and lends its owner the right to
// read it where only the mode is against it.
FileResult OpenOwnRegularAt(int directory, const char* name, os::Fd& file,
                            struct stat& info);

// The names in a directory, sorted, without "." and "..", at most `most` and
// then `more` is set. False with errno.
bool ReadNames(const os::Fd& directory, size_t most,
               std::vector<std::string>& names, bool& more);

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_FILE_AGENT_TREE_WALK_H_
