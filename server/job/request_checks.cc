#include "server/job/request_checks.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/limits/limit_fields.h"
#include "policy/text/json_reader.h"
#include "policy/text/known_languages.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr absl::string_view kReservedEnvPrefix = "SANDGLASS_";

// For example: "…; did you mean "python"? There are bash, python."
std::string Unknown(const std::string& wanted,
                    const std::vector<std::string>& candidates,
                    const std::vector<std::string>& listed) {
  const std::string nearest = policy::NearestWord(wanted, candidates);
  return absl::StrCat(
      Quoted(wanted), " is not known",
      nearest.empty() ? "" : absl::StrCat("; did you mean \"", nearest, "\"?"),
      nearest.empty() ? "; there are: " : " There are: ",
      absl::StrJoin(listed, ", "));
}

// For wishes that no profile grants: which key of which file would, and for
// whom.
void SayHowToRaise(const policy::Profile& profile,
                   const policy::LimitRequest& wishes, const std::string& field,
                   Violations& refused) {
  for (const policy::LimitField& limit : policy::kLimitFields) {
    const std::optional<uint64_t> wish = limit.wish(wishes);
    // What can't work at all is no matter of profiles.
    if (!wish || *wish > limit.max) continue;
    const absl::string_view key = AbslView(policy::LimitName(limit.kind));
    const std::string path = absl::StrCat(field, ".", key);
    for (policy::FieldViolation& violation : refused) {
      if (violation.field != path || *wish <= limit.get(profile.maximum)) {
        continue;
      }
      absl::StrAppend(&violation.description,
                      "; no profile allows it: whoever runs the daemon raises "
                      "\"",
                      key, "\" under \"maximum\" in profiles/", profile.name,
                      ".json of its policy_dir, for all who may use that "
                      "profile");
    }
  }
}

bool IsEnvName(const std::string& name) {
  const auto fits = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '_';
  };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') &&
         std::ranges::all_of(name, fits);
}

}  // namespace

bool HasNul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

std::string TooLarge(size_t size, size_t limit) {
  return absl::StrCat("has ", size, " bytes; at most ", limit, " are taken");
}

std::string TooMany(size_t count, size_t limit) {
  return absl::StrCat("has ", count, " entries; at most ", limit, " are taken");
}

bool RefuseLarge(absl::string_view field, size_t size, size_t limit,
                 Violations& violations) {
  if (size > limit) {
    violations.push_back({std::string(field), TooLarge(size, limit)});
  }
  return size > limit;
}

bool RefuseMany(absl::string_view field, size_t count, size_t limit,
                Violations& violations) {
  if (count > limit) {
    violations.push_back({std::string(field), TooMany(count, limit)});
  }
  return count > limit;
}

std::string Indexed(absl::string_view field, size_t index) {
  return absl::StrCat(field, "[", index, "]");
}

std::string Keyed(absl::string_view field, const std::string& key) {
  return absl::StrCat(field, "[", Quoted(key), "]");
}

const policy::Language* CheckLanguage(const PolicySet& policy,
                                      const std::string& wanted,
                                      Violations& violations) {
  const policy::Language* language = policy.languages().Find(wanted);
  if (language != nullptr) return language;
  std::vector<std::string> ids, words;
  for (const policy::Language& known : policy.languages().languages()) {
    ids.push_back(known.id);
    words.push_back(known.id);
    words.insert(words.end(), known.aliases.begin(), known.aliases.end());
  }
  const policy::KnownLanguage* const known = policy::FindKnownLanguage(wanted);
  std::string problem;
  if (wanted.empty()) {
    problem = absl::StrCat("is empty; there are: ", absl::StrJoin(ids, ", "));
  } else if (known != nullptr) {
    // No slip of one that is offered, however near it is spelt.
    problem = absl::StrCat(
        Quoted(wanted), " is ", AbslView(known->name),
        ", which this daemon does not offer: ", policy::HowToAdd(*known),
        "; there are: ", absl::StrJoin(ids, ", "));
  } else {
    problem = Unknown(wanted, words, ids);
  }
  violations.push_back({"language", std::move(problem)});
  return nullptr;
}

policy::SharedProfile CheckProfile(const PolicySet& policy,
                                   const std::string& wanted,
                                   const policy::Language* language,
                                   Violations& violations) {
  policy::SharedProfile profile = policy.FindProfile(wanted);
  if (profile == nullptr) {
    std::vector<std::string> names;
    for (const policy::SharedProfile& known : policy.profiles()) {
      names.push_back(known->name);
    }
    violations.push_back({"profile", Unknown(wanted, names, names)});
    return nullptr;
  }
  if (language != nullptr && !policy::AllowsLanguage(*profile, language->id)) {
    violations.push_back(
        {"language", absl::StrCat("profile ", profile->name, " does not allow ",
                                  language->id, "; it allows: ",
                                  absl::StrJoin(profile->languages, ", "))});
  }
  return profile;
}

const policy::Language* InImageOf(const PolicySet& policy,
                                  const policy::SharedProfile& profile,
                                  const policy::Language* language) {
  if (profile == nullptr || language == nullptr) return language;
  return &policy.languages().In(profile->image, *language);
}

policy::Limits ApplyWishes(const PolicySet& policy,
                           const policy::Profile& profile,
                           const policy::Language* language,
                           const policy::LimitFloors& floors,
                           const policy::LimitRequest& wishes,
                           const std::string& field, Violations& violations) {
  Violations refused;
  const policy::Limits limits = policy::ApplyRequest(
      policy::RaisedTo(floors, profile), wishes, refused, field);
  if (refused.empty()) return limits;
  bool another = false;
  for (const policy::SharedProfile& other : policy.profiles()) {
    Violations problems;
    policy::ApplyRequest(policy::RaisedTo(floors, *other), wishes, problems,
                         field);
    if (!problems.empty()) continue;
    if (language != nullptr && !policy::AllowsLanguage(*other, language->id)) {
      continue;
    }
    for (policy::FieldViolation& violation : refused) {
      absl::StrAppend(&violation.description, "; profile \"", other->name,
                      "\" allows it");
    }
    another = true;
    break;
  }
  if (!another) SayHowToRaise(profile, wishes, field, refused);
  violations.insert(violations.end(), refused.begin(), refused.end());
  return limits;
}

void CheckKernelStarts(const policy::Language& language,
                       const policy::Limits& limits, const std::string& field,
                       Violations& violations) {
  // If the field was already refused, for being below what can work at all, say
  // no more.
  const bool is_told =
      std::ranges::count(violations, field, &policy::FieldViolation::field) > 0;
  if (!language.kernel || is_told) return;
  for (const auto& [kind, min] : language.limits) {
    if (kind == policy::LimitKind::kOpenFiles && limits.open_files < min) {
      violations.push_back(
          {field,
           absl::StrCat(limits.open_files,
                        " open files are too few for a kernel of ",
                        language.name, " to start; it takes at least ", min)});
    }
  }
}

Violations WithPrefix(const std::string& prefix, Violations violations) {
  for (policy::FieldViolation& violation : violations) {
    violation.field.insert(0, prefix);
  }
  return violations;
}

void CheckContext(const std::string& context, Violations& violations) {
  if (context.size() > kMaxContextBytes ||
      !std::ranges::all_of(context, [](unsigned char c) {
        return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
      })) {
    violations.push_back(
        {"context", absl::StrCat("is not of the form [A-Za-z0-9._-]{1,",
                                 kMaxContextBytes, "}")});
  }
}

void CheckEnv(const StringMap& env, Violations& violations) {
  size_t bytes = 0;
  for (const auto& [name, value] : env) {
    bytes += name.size() + value.size() + 2;
  }
  // A message about each of millions of names would take far more memory than
  // the names do.
  if (RefuseLarge("env", bytes, kMaxEnvBytes, violations)) return;
  for (const auto& [name, value] : env) {
    if (!IsEnvName(name)) {
      violations.push_back({Keyed("env", name),
                            "is no name of the form [A-Za-z_][A-Za-z0-9_]*"});
    } else if (absl::StartsWith(name, kReservedEnvPrefix)) {
      violations.push_back(
          {Keyed("env", name),
           absl::StrCat("names that begin with ", kReservedEnvPrefix,
                        " are the server's own")});
    }
    if (HasNul(value)) {
      violations.push_back({Keyed("env", name), "the value has a NUL byte"});
    }
  }
}

void CheckLabels(const StringMap& labels, Violations& violations) {
  if (RefuseMany("labels", labels.size(), kMaxLabels, violations)) return;
  for (const auto& [key, value] : labels) {
    if (key.empty() || key.size() > kMaxLabelKeyBytes ||
        !IsPrintableAscii(key)) {
      violations.push_back({Keyed("labels", key),
                            absl::StrCat("a key has 1 to ", kMaxLabelKeyBytes,
                                         " printable ASCII characters")});
    }
    if (!RefuseLarge(Keyed("labels", key), value.size(), kMaxLabelValueBytes,
                     violations) &&
        std::ranges::any_of(value, absl::ascii_iscntrl)) {
      violations.push_back(
          {Keyed("labels", key), "the value has a control character"});
    }
  }
}

std::optional<absl::Duration> TimeWish(const google::protobuf::Duration& proto,
                                       const std::string& field,
                                       Violations& violations) {
  constexpr int64_t kMaxSeconds = 315'576'000'000;  // protobuf's own bound
  if (proto.seconds() < 0 || proto.nanos() < 0 || proto.nanos() > 999'999'999 ||
      proto.seconds() > kMaxSeconds) {
    violations.push_back({field, "is not a duration of zero or more"});
    return std::nullopt;
  }
  return absl::Seconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

absl::Duration SessionTimeWish(bool wished,
                               const google::protobuf::Duration& proto,
                               const std::string& field, absl::Duration max,
                               Violations& violations) {
  constexpr absl::Duration kShortest = absl::Seconds(1);
  if (!wished) return max;
  const std::optional<absl::Duration> time = TimeWish(proto, field, violations);
  if (!time.has_value()) return max;
  if (*time < kShortest || *time > max) {
    violations.push_back(
        {field, absl::StrCat(absl::FormatDuration(*time), " is not within ",
                             absl::FormatDuration(kShortest), " to ",
                             absl::FormatDuration(max))});
    return max;
  }
  return *time;
}

policy::LimitRequest LimitWishes(const v1::Limits& wish,
                                 const std::string& field,
                                 Violations& violations) {
  policy::LimitRequest out;
  if (wish.has_wall_time()) {
    out.wall_time =
        TimeWish(wish.wall_time(), field + ".wall_time", violations);
  }
  if (wish.has_cpu_time()) {
    out.cpu_time = TimeWish(wish.cpu_time(), field + ".cpu_time", violations);
  }
  if (wish.has_memory_bytes()) out.memory_bytes = wish.memory_bytes();
  if (wish.has_max_processes()) out.max_processes = wish.max_processes();
  if (wish.has_cpu_millis()) out.cpu_millis = wish.cpu_millis();
  if (wish.has_tmp_bytes()) out.tmp_bytes = wish.tmp_bytes();
  if (wish.has_workspace_bytes()) out.workspace_bytes = wish.workspace_bytes();
  if (wish.has_max_files()) out.max_files = wish.max_files();
  if (wish.has_output_bytes()) out.output_bytes = wish.output_bytes();
  if (wish.has_output_total_bytes()) {
    out.output_total_bytes = wish.output_total_bytes();
  }
  if (wish.has_open_files()) out.open_files = wish.open_files();
  if (wish.has_file_size_bytes()) out.file_size_bytes = wish.file_size_bytes();
  return out;
}

}  // namespace sandglass::server
