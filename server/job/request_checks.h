#ifndef SANDGLASS_SERVER_JOB_REQUEST_CHECKS_H_
#define SANDGLASS_SERVER_JOB_REQUEST_CHECKS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/protobuf/map.h"
#include "policy/language/language.h"
#include "policy/limits/limit_floors.h"
#include "policy/limits/limits.h"
#include "policy/profile/profile.h"
#include "sandglass/v1/limits.pb.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

// Checks of what requests have in common. Each check adds what is wrong to
// `violations`, by the field's path in the request.

using Violations = std::vector<policy::FieldViolation>;
using StringMap = google::protobuf::Map<std::string, std::string>;

// "=" and NUL count, too.
inline constexpr size_t kMaxEnvBytes = size_t{64} << 10;
inline constexpr size_t kMaxLabels = 32;
inline constexpr size_t kMaxLabelKeyBytes = 63;
inline constexpr size_t kMaxLabelValueBytes = 256;

bool HasNul(const std::string& text);
std::string TooLarge(size_t size, size_t limit);
std::string TooMany(size_t count, size_t limit);
// Whether a field has more than `limit` bytes or entries, which is then a
// violation.
bool RefuseLarge(absl::string_view field, size_t size, size_t limit,
                 Violations& violations);
bool RefuseMany(absl::string_view field, size_t count, size_t limit,
                Violations& violations);
// "files[3]".
std::string Indexed(absl::string_view field, size_t index);
// Names a map's entry by its key, as far as that can be shown: "env[\"A B\"]".
std::string Keyed(absl::string_view field, const std::string& key);

// Finds a language by id or alias. Returns nullptr, with a violation of
// "language", when there is none.
const policy::Language* CheckLanguage(const PolicySet& policy,
                                      const std::string& wanted,
                                      Violations& violations);
// Finds a profile; "" means "default". Returns nullptr, with a violation of
// "profile", when there is none. A profile that doesn't allow the language,
// which may be null, is a violation of "language".
policy::SharedProfile CheckProfile(const PolicySet& policy,
                                   const std::string& wanted,
                                   const policy::Language* language,
                                   Violations& violations);
// The language as it is in the image of that profile's jails; either argument
// may be null.
const policy::Language* InImageOf(const PolicySet& policy,
                                  const policy::SharedProfile& profile,
                                  const policy::Language* language);

// Returns the violations with `prefix` before each field's path.
Violations WithPrefix(const std::string& prefix, Violations violations);

inline constexpr size_t kMaxContextBytes = 64;
// Checks the field "context".
void CheckContext(const std::string& context, Violations& violations);
// Check the fields "env" and "labels".
void CheckEnv(const StringMap& env, Violations& violations);
void CheckLabels(const StringMap& labels, Violations& violations);

// Returns a duration of zero or more; otherwise nullopt, with a violation of
// `field`.
std::optional<absl::Duration> TimeWish(const google::protobuf::Duration& proto,
                                       const std::string& field,
                                       Violations& violations);
// A session's idle timeout or age: the one asked for, at least 1 s, or `max`
// when none is asked for.
absl::Duration SessionTimeWish(bool wished,
                               const google::protobuf::Duration& proto,
                               const std::string& field, absl::Duration max,
                               Violations& violations);
// `field` is the request's field: "limits" or "compile_limits".
policy::LimitRequest LimitWishes(const v1::Limits& wish,
                                 const std::string& field,
                                 Violations& violations);
// Applies the wishes for one phase to the profile's limits, which are raised to
// what the language, which may be null, needs. A violation for refused wishes
// names a profile that grants all of them, if there is one.
policy::Limits ApplyWishes(const PolicySet& policy,
                           const policy::Profile& profile,
                           const policy::Language* language,
                           const policy::LimitFloors& floors,
                           const policy::LimitRequest& wishes,
                           const std::string& field, Violations& violations);

// Checks whether a kernel of the language can start with as many open files as
// `limits` allow, if the language says how many it needs at least; adds a
// violation of `field` if not. Programs may have fewer: it is up to them what
// they do without.
void CheckKernelStarts(const policy::Language& language,
                       const policy::Limits& limits, const std::string& field,
                       Violations& violations);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_REQUEST_CHECKS_H_
