#ifndef SANDGLASS_CLIENT_SERVICE_SERVICE_OPTIONS_H_
#define SANDGLASS_CLIENT_SERVICE_SERVICE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"

namespace sandglass::client {

// Starts a daemon in the background.
struct UpOptions {
  std::string state_dir;  // empty: this user's
  std::string group;      // may use the socket; empty: see UpCommand
  absl::Duration wait = absl::Minutes(2);  // until it serves
  std::vector<std::string> arguments;      // more of sandglassd's own
  bool json = false;
};

// Ends the daemon that `up` has started.
struct DownOptions {
  std::string state_dir;
  bool now = false;  // without waiting for runs to end
  bool json = false;
};

// Shows what that daemon wrote.
struct LogsOptions {
  std::string state_dir;
  uint32_t lines = 20;
  bool follow = false;
};

using ServiceOptions = std::variant<UpOptions, DownOptions, LogsOptions>;

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SERVICE_SERVICE_OPTIONS_H_
