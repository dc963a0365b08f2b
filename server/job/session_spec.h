#ifndef SANDGLASS_SERVER_JOB_SESSION_SPEC_H_
#define SANDGLASS_SERVER_JOB_SESSION_SPEC_H_

#include <cstdint>
#include <limits>
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

// Bounds that the operator sets.
struct SessionOptions {
  uint32_t max_sessions = 64;  // 0 means that none may be made
  // So many more beyond max_sessions, for callers that have few: see Shares.
  uint32_t reserve = 0;
  uint32_t max_per_caller = 64;  // 1 or more
  // These hold for a session that asks for nothing, and are the most that one
  // may ask for.
  absl::Duration idle_timeout = absl::Hours(1);
  absl::Duration max_age = absl::Hours(24);
  // How long the end of a session is remembered, for callers that come late.
  absl::Duration remember = absl::Hours(1);
  // The most that the memory limits of all sessions may add up to.
  uint64_t memory_bytes = std::numeric_limits<uint64_t>::max();
  // The directory for the copies of durable sessions; empty when there are
  // none.
  std::string durable_dir;
  // The most that all these copies may take.
  uint64_t durable_bytes = uint64_t{10} << 30;
  // The most memory for the files of forks that wait for their first use.
  uint64_t fork_bytes = uint64_t{1} << 30;

  // The most sessions that there may be in all.
  uint32_t max() const { return max_sessions + reserve; }
};

// The properties of a session, checked, with all defaults filled in.
struct SessionSpec {
  const policy::Language* language = nullptr;  // null when it has no kernel
  policy::SharedProfile profile;
  policy::Limits limits;
  policy::StringPairs env;                  // the request's, sorted
  std::optional<LibraryRequest> libraries;  // of `language`
  std::map<std::string, std::string> labels;
  absl::Duration idle_timeout;
  absl::Duration max_age;
  std::string forked_from;  // a session's id; empty for none
  bool evictable = false;   // as CreateSessionRequest says

  bool durable() const {
    return profile->session_files == policy::SessionFiles::kDurable;
  }
};

// What is known of a session that existed before this daemon started.
struct SessionPast {
  absl::Time create_time;
  absl::Time last_used_time;
  absl::Duration age;
  absl::Duration idle;
  std::vector<std::string> contexts;  // those whose kernels' state is lost
  // Why it can't be used at present although its files are kept: the end of a
  // sentence. Empty when it can be used.
  std::string unusable;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_SESSION_SPEC_H_
