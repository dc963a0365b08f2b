#ifndef SANDGLASS_TESTS_SECURITY_POSTURE_START_WATCH_H_
#define SANDGLASS_TESTS_SECURITY_POSTURE_START_WATCH_H_

#include <sys/types.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sandglass::testing {

// A process that looks up a path, and what it had at that moment.
struct PathLookup {
  pid_t pid = 0;  // as the host sees it
  std::string call;
  std::string path;
  // What /proc/<pid>/status says.
  std::string seccomp;       // "2": a filter is installed
  std::string no_new_privs;  // "1"
  std::string capabilities;  // effective, in hexadecimal
  std::string uids;          // real, effective, saved and of the file system
  // It has called these.
  bool restricted_by_landlock = false;
  bool joined_namespaces = false;
  // Its open files by number: what the link in /proc says.
  std::map<int, std::string> files;
  // Those of them that are directories.
  std::map<int, std::string> directories;
};

// One line, for messages.
std::string Describe(const PathLookup& lookup);

// Follows what one process starts, by ptrace(2): from the birth of a child to
// its first exec, or until it waits for a message, each call that takes a path
// is noted with the walls that stand around the process by then. Only reads;
// what is watched goes on as it would, but slower. Needs root.
class StartWatch {
 public:
  // Begins at once. `parent` must not be traced by anybody else.
  explicit StartWatch(pid_t parent);
  // Lets go of all that is watched.
  ~StartWatch();
  StartWatch(const StartWatch&) = delete;
  StartWatch& operator=(const StartWatch&) = delete;

  // False: the parent could not be attached to.
  bool attached() const { return attached_; }
  // Until now, in their order.
  std::vector<PathLookup> lookups() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Child {
    bool stopped_before = false;
    bool restricted_by_landlock = false;
    bool joined_namespaces = false;
  };
  void Loop(pid_t parent);
  // True when the process is to be watched on.
  bool Stopped(pid_t pid, int status);
  bool EntersCall(pid_t pid, Child& child);
  void Adopt(pid_t pid);

  std::atomic<bool> attached_{false};
  std::atomic<bool> tried_{false};
  std::atomic<bool> done_{false};
  // Of the thread.
  pid_t parent_ = 0;
  std::map<pid_t, Child> children_;
  mutable absl::Mutex mutex_;
  std::vector<PathLookup> lookups_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SECURITY_POSTURE_START_WATCH_H_
