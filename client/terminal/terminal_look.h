#ifndef SANDGLASS_CLIENT_TERMINAL_TERMINAL_LOOK_H_
#define SANDGLASS_CLIENT_TERMINAL_TERMINAL_LOOK_H_

#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace sandglass::client {

// The variable's value; empty: it isn't set.
std::string EnvironmentVariable(const char* name);

// Whether what is written there may move the cursor: it is a terminal, and not
// a dumb one.
bool MayMoveCursor(int fd);

// Whether it may have colours: the same, and NO_COLOR isn't set.
bool MayColour(int fd);

// Says what is waited for, once that takes over a second: a line on standard
// error, where the cursor may be moved, that counts the seconds and goes away
// in the end. Thread-safe.
class WaitLine {
 public:
  explicit WaitLine(std::string text);
  ~WaitLine();
  WaitLine(const WaitLine&) = delete;
  WaitLine& operator=(const WaitLine&) = delete;

  // What is waited for now.
  void Say(std::string text) ABSL_LOCKS_EXCLUDED(mutex_);
  // Takes the line away for good; call it before anything else is printed.
  void End() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Show() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  std::string text_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  // Last, because it uses all other members.
  std::thread thread_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TERMINAL_TERMINAL_LOOK_H_
