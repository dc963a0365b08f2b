#ifndef SANDGLASS_SERVER_JOB_SESSION_SPEC_H_
#define SANDGLASS_SERVER_JOB_SESSION_SPEC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "policy/language/language.h"
#include "policy/limits/limits.h"
#include "policy/profile/profile.h"
#include "server/layers/library_request.h"

namespace sandglass::server {

// The operator's bounds.
struct SessionOptions {
  uint32_t max_sessions = 64;  // 0: none may be made
  // Beyond max_sessions, for callers that have few: see Shares.
  uint32_t reserve = 0;
  uint32_t max_per_caller = 64;  // 1 or more
  // What a session has that asks for nothing, and the most that one may ask
  // for.
  absl::Duration idle_timeout = absl::Hours(1);
  absl::Duration max_age = absl::Hours(24);
  // How long the end of a session is remembered, for who comes late.
  absl::Duration remember = absl::Hours(1);
  // Where the copies of durable sessions are; empty: there are none.
  std::string durable_dir;
  // The most that all of them may take.
  uint64_t durable_bytes = uint64_t{10} << 30;
  // The most memory for files of forks that wait for their first use.
  uint64_t fork_bytes = uint64_t{1} << 30;

  // Sessions that there may be in all.
  uint32_t most() const { return max_sessions + reserve; }
};

// What a session is like; checked, all defaults filled in.
struct SessionSpec {
  const policy::Language* language = nullptr;  // null: no kernel
  policy::SharedProfile profile;
  policy::Limits limits;
  policy::StringPairs env;                   // the request's, sorted
  std::optional<WantedLibraries> libraries;  // of `language`
  std::map<std::string, std::string> labels;
  absl::Duration idle_timeout;
  absl::Duration max_age;
  std::string forked_from;  // a session's id; empty: none

  bool durable() const {
    return profile->session_files == policy::SessionFiles::kDurable;
  }
};

// A session that was there before this daemon.
struct SessionPast {
  absl::Time create_time;
  absl::Time last_used_time;
  absl::Duration age;
  absl::Duration idle;
  std::vector<std::string> contexts;  // whose kernels' state is lost
  // Why it can't be used as things are, although its files are kept: the
  // sentence's end. Empty: it can.
  std::string unusable;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_SESSION_SPEC_H_
