#include "server/session/session_record.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "policy/limits/limit_fields.h"
#include "policy/profile/profile.h"
#include "server/base/strings.h"
#include "server/job/library_checks.h"
#include "server/job/request_checks.h"

namespace sandglass::server {
namespace {

constexpr uint64_t kPage = 4096;

// The limits of the record where it has them, otherwise the profile's, and none
// above the profile's maximum.
policy::Limits LimitsOf(const internal::StoredSession& record,
                        const policy::Profile& profile) {
  std::map<std::string, uint64_t> stored;
  for (const internal::StoredLimit& limit : record.limits()) {
    stored[limit.name()] = limit.value();
  }
  policy::Limits limits = profile.limits;
  for (const policy::LimitField& field : policy::kLimitFields) {
    const auto it = stored.find(std::string(policy::LimitName(field.kind)));
    if (it == stored.end()) continue;
    field.set(limits, std::min(it->second, field.get(profile.maximum)));
  }
  // The jail's disks are in memory, and its memory limit may have become lower.
  // The disk for the files gets the larger part.
  const uint64_t half = limits.memory_bytes / 2 / kPage * kPage;
  if (limits.tmp_bytes + limits.workspace_bytes > half) {
    limits.workspace_bytes =
        std::min(limits.workspace_bytes, half / 4 * 3 / kPage * kPage);
    limits.tmp_bytes =
        std::min(limits.tmp_bytes, half - limits.workspace_bytes);
  }
  return policy::CheckLimits(limits, "limits").empty() ? limits
                                                       : profile.limits;
}

}  // namespace

internal::StoredSession ToRecord(const std::string& id, const Identity& caller,
                                 const SessionSpec& spec, absl::Time created,
                                 absl::Duration age,
                                 const std::vector<std::string>& contexts,
                                 absl::Time now) {
  internal::StoredSession record;
  record.set_session_id(id);
  record.set_caller(caller.name);
  if (spec.language != nullptr) record.set_language(spec.language->id);
  record.set_profile(spec.profile->name);
  for (const policy::LimitField& field : policy::kLimitFields) {
    internal::StoredLimit& limit = *record.add_limits();
    limit.set_name(std::string(policy::LimitName(field.kind)));
    limit.set_value(field.get(spec.limits));
  }
  record.mutable_env()->insert(spec.env.begin(), spec.env.end());
  record.mutable_labels()->insert(spec.labels.begin(), spec.labels.end());
  record.set_idle_timeout_ns(absl::ToInt64Nanoseconds(spec.idle_timeout));
  record.set_max_age_ns(absl::ToInt64Nanoseconds(spec.max_age));
  record.set_forked_from(spec.forked_from);
  record.set_evictable(spec.evictable);
  record.set_create_time_ns(absl::ToUnixNanos(created));
  record.set_age_ns(absl::ToInt64Nanoseconds(age));
  record.set_written_ns(absl::ToUnixNanos(now));
  for (const std::string& context : contexts) record.add_contexts(context);
  if (spec.libraries) {
    const LibraryWish& wish = spec.libraries->wish();
    record.mutable_libraries()->Assign(wish.libraries.begin(),
                                       wish.libraries.end());
    record.set_library_lock(wish.lock);
  }
  return record;
}

FormerSession FromRecord(const internal::StoredSession& record,
                         const PolicySet& policy, const SessionOptions& options,
                         absl::Time last_used, absl::Time now) {
  FormerSession former;
  SessionSpec& spec = former.spec;
  SessionPast& past = former.past;
  Violations violations;
  if (!record.language().empty()) {
    spec.language = CheckLanguage(policy, record.language(), violations);
  }
  spec.profile =
      CheckProfile(policy, record.profile(), spec.language, violations);
  spec.language = InImageOf(policy, spec.profile, spec.language);
  if (spec.language != nullptr && !spec.language->kernel.has_value()) {
    spec.language = nullptr;
    violations.push_back({"language", absl::StrCat(Quoted(record.language()),
                                                   " has no kernel now")});
  }
  if (spec.profile != nullptr && !spec.durable()) {
    violations.push_back(
        {"profile", absl::StrCat("profile \"", record.profile(),
                                 "\" keeps no files now (session_files)")});
  }
  absl::StatusOr<std::optional<LibraryRequest>> libraries = CheckLibraries(
      LibraryWish::Of(record), spec.language, spec.profile.get(), violations);
  if (!violations.empty()) {
    past.unusable = violations.front().description;
  } else if (!libraries.ok()) {
    past.unusable = std::string(libraries.status().message());
  } else {
    spec.libraries = *std::move(libraries);
  }
  // This profile stands for the one that is gone; nothing can be started in the
  // session.
  if (spec.profile == nullptr) spec.profile = policy.FindProfile("");
  spec.limits = LimitsOf(record, *spec.profile);
  spec.env.assign(record.env().begin(), record.env().end());
  std::sort(spec.env.begin(), spec.env.end());
  spec.labels = {record.labels().begin(), record.labels().end()};
  spec.idle_timeout = std::min(absl::Nanoseconds(record.idle_timeout_ns()),
                               options.idle_timeout);
  spec.max_age =
      std::min(absl::Nanoseconds(record.max_age_ns()), options.max_age);
  spec.forked_from = record.forked_from();
  spec.evictable = record.evictable();

  const absl::Duration zero;
  past.create_time = absl::FromUnixNanos(record.create_time_ns());
  past.last_used_time = last_used;
  // If the clock was set back in between, the session doesn't become younger
  // than it was.
  past.age = absl::Nanoseconds(record.age_ns()) +
             std::max(zero, now - absl::FromUnixNanos(record.written_ns()));
  past.idle = std::max(zero, now - last_used);
  past.contexts = {record.contexts().begin(), record.contexts().end()};
  return former;
}

}  // namespace sandglass::server
