#ifndef SANDGLASS_CLIENT_SESSION_OPTIONS_H_
#define SANDGLASS_CLIENT_SESSION_OPTIONS_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "client/options.h"

namespace sandglass::client {

struct SessionCreateOptions {
  std::string language;  // empty: no kernel
  std::string profile;
  LimitOptions limits;
  Pairs env;
  Pairs labels;
  std::optional<absl::Duration> idle_timeout;
  std::optional<absl::Duration> max_age;
  bool get = false;
  bool json = false;
};

struct SessionListOptions {
  Pairs labels;
  std::string state;  // "active", "paused" or empty
  bool json = false;
};

struct SessionInfoOptions {
  std::string session_id;
  bool json = false;
};

struct SessionUpdateOptions {
  std::string session_id;
  std::optional<absl::Duration> idle_timeout;
  std::optional<absl::Duration> max_age;
  std::optional<Pairs> labels;  // instead of the old ones
};

// Commands that take a session and say nothing more about it.
enum class SessionVerb { kPause, kResume };
struct SessionVerbOptions {
  SessionVerb verb = SessionVerb::kPause;
  std::string session_id;
};

// Commands for one kernel of a session.
enum class KernelVerb { kInterrupt, kRestart };
struct KernelVerbOptions {
  KernelVerb verb = KernelVerb::kInterrupt;
  std::string session_id;
  std::string context;
};

// Either ids, or all with these labels.
struct SessionDeleteOptions {
  std::vector<std::string> session_ids;
  bool all = false;
  Pairs labels;
};

// `sandglass session run`; the session and its context are in `run`.
struct SessionRunOptions {
  RunOptions run;
};

using SessionOptions =
    std::variant<SessionCreateOptions, SessionListOptions, SessionInfoOptions,
                 SessionRunOptions, SessionUpdateOptions, SessionVerbOptions,
                 KernelVerbOptions, SessionDeleteOptions>;

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_OPTIONS_H_
