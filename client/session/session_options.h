#ifndef SANDGLASS_CLIENT_SESSION_SESSION_OPTIONS_H_
#define SANDGLASS_CLIENT_SESSION_SESSION_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "client/flags/options.h"

namespace sandglass::client {

struct SessionCreateOptions {
  std::string language;  // empty: no kernel
  std::string profile;
  LimitOptions limits;
  Pairs env;
  Pairs labels;
  std::vector<std::string> libraries;
  std::optional<std::string> lock_file;  // as in BuildLayerOptions
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
  std::optional<Pairs> labels;  // replace the old ones
  bool json = false;
};

// Commands whose only argument is a session.
enum class SessionVerb { kPause, kResume };
struct SessionVerbOptions {
  SessionVerb verb = SessionVerb::kPause;
  std::string session_id;
  bool json = false;
};

// Commands for one kernel of a session.
enum class KernelVerb { kInterrupt, kRestart };
struct KernelVerbOptions {
  KernelVerb verb = KernelVerb::kInterrupt;
  std::string session_id;
  std::string context;
  bool json = false;
};

// Either some ids, or all sessions with these labels.
struct SessionDeleteOptions {
  std::vector<std::string> session_ids;
  bool all = false;
  Pairs labels;
};

// `sandglass session run`; `run` contains the session and its context.
struct SessionRunOptions {
  RunOptions run;
};

// `sandglass session put`: copies files and directories from here to the
// session. "-" is standard input.
struct SessionPutOptions {
  std::string session_id;
  std::vector<std::string> local;
  std::string remote;
};

// `sandglass session get`: copies a file or directory from the session to here.
// "-" is standard output.
struct SessionGetOptions {
  std::string session_id;
  std::string remote;
  std::string local;
};

struct SessionCatOptions {
  std::string session_id;
  std::vector<std::string> remote;
};

struct SessionLsOptions {
  std::string session_id;
  std::string path;  // empty: /workspace
  bool all = false;
  bool details = false;
  bool json = false;
};

// `sandglass session exec` and `shell`. Exactly one of argv and command is set,
// or neither for a shell.
struct SessionExecOptions {
  std::string session_id;
  std::string exec_id;
  std::vector<std::string> argv;
  std::string command;
  std::string directory;
  Pairs env;
  LimitOptions limits;
  bool shell = false;
  bool merged = false;
  bool terminal = false;
  bool interactive = false;
  bool no_stdin = false;
  bool background = false;
};

struct SessionAttachOptions {
  std::string session_id;
  std::string exec_id;
  bool interactive = false;
};

struct SessionPsOptions {
  std::string session_id;
  bool json = false;
};

struct SessionStopOptions {
  std::string session_id;
  std::vector<std::string> exec_ids;
  int signal = 0;  // 0: the daemon's choice
  std::optional<absl::Duration> grace;
  bool json = false;
};

struct SessionForkOptions {
  std::string session_id;
  uint32_t count = 1;
  LimitOptions limits;
  Pairs env;
  std::optional<Pairs> labels;  // replace the parent's
  std::optional<absl::Duration> idle_timeout;
  std::optional<absl::Duration> max_age;
  bool json = false;
};

struct SessionSnapshotOptions {
  std::string session_id;
  std::string path;                   // empty: /workspace
  std::optional<std::string> output;  // absent: standard output
};

struct SessionRestoreOptions {
  std::string session_id;
  std::string input;  // "-" is standard input
  std::string path;   // empty: /workspace
  bool replace = false;
  bool json = false;
};

// `sandglass session forward`.
struct SessionForwardOptions {
  std::string session_id;
  uint16_t port = 0;
  uint16_t local = 0;  // of this machine; 0: a free one
};

// `sandglass session link`.
struct SessionLinkOptions {
  std::string session_id;
  uint16_t port = 0;
  std::optional<absl::Duration> duration;
  bool json = false;
};

using SessionOptions =
    std::variant<SessionCreateOptions, SessionListOptions, SessionInfoOptions,
                 SessionRunOptions, SessionUpdateOptions, SessionVerbOptions,
                 KernelVerbOptions, SessionDeleteOptions, SessionPutOptions,
                 SessionGetOptions, SessionCatOptions, SessionLsOptions,
                 SessionExecOptions, SessionAttachOptions, SessionPsOptions,
                 SessionStopOptions, SessionForkOptions, SessionSnapshotOptions,
                 SessionRestoreOptions, SessionForwardOptions,
                 SessionLinkOptions>;

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_SESSION_SESSION_OPTIONS_H_
