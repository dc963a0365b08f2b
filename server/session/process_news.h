#ifndef SANDGLASS_SERVER_SESSION_PROCESS_NEWS_H_
#define SANDGLASS_SERVER_SESSION_PROCESS_NEWS_H_

#include <functional>
#include <string>
#include <variant>

#include "sandbox/jail/session_jail.h"

namespace sandglass::server {

// The jail's processes were stopped, or go on again.
struct JailFroze {
  bool frozen;
};
// The jail is dead; says how it died. Nothing follows.
struct JailDied {
  std::string how;
  bool out_of_memory;
};
using ProcessNews =
    std::variant<sandbox::SpawnedEvent, sandbox::SpawnFailedEvent,
                 sandbox::ProcessExitedEvent, JailFroze, JailDied>;
// Called on any thread, under HostedJail::mutex, so it may only store what it
// gets.
using ProcessNewsHandler = std::function<void(ProcessNews)>;

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_PROCESS_NEWS_H_
