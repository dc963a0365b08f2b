#ifndef SANDGLASS_SERVER_SESSION_SPEC_H_
#define SANDGLASS_SERVER_SESSION_SPEC_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "policy/language.h"
#include "policy/limits.h"
#include "policy/profile.h"

namespace sandglass::server {

// The operator's bounds.
struct SessionOptions {
  uint32_t max_sessions = 64;    // 0: none may be made
  uint32_t max_per_caller = 64;  // 1 or more
  // What a session has that asks for nothing, and the most that one may ask
  // for.
  absl::Duration idle_timeout = absl::Hours(1);
  absl::Duration max_age = absl::Hours(24);
  // How long the end of a session is remembered, for who comes late.
  absl::Duration remember = absl::Hours(1);
};

// What a session is like; checked, all defaults filled in.
struct SessionSpec {
  const policy::Language* language = nullptr;  // null: no kernel
  const policy::Profile* profile = nullptr;
  policy::Limits limits;
  policy::StringPairs env;  // the request's, sorted
  std::map<std::string, std::string> labels;
  absl::Duration idle_timeout;
  absl::Duration max_age;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_SESSION_SPEC_H_
