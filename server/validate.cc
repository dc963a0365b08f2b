#include "server/validate.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/json_reader.h"
#include "policy/paths.h"
#include "server/errors.h"
#include "server/make_job.h"
#include "server/text.h"

namespace sandglass::server {
namespace {

using Violations = std::vector<policy::FieldViolation>;

constexpr absl::string_view kReservedEnvPrefix = "SANDGLASS_";

bool HasNul(const std::string& text) {
  return text.find('\0') != std::string::npos;
}

std::string TooLarge(size_t size, size_t limit) {
  return absl::StrCat("has ", size, " bytes; at most ", limit, " are taken");
}

std::string TooMany(size_t count, size_t limit) {
  return absl::StrCat("has ", count, " entries; at most ", limit, " are taken");
}

std::string Indexed(absl::string_view field, size_t index) {
  return absl::StrCat(field, "[", index, "]");
}

// A map's entry by its key, as far as that can be shown.
std::string Keyed(absl::string_view field, const std::string& key) {
  return absl::StrCat(field, "[", Quote(key), "]");
}

// "…; did you mean "python"? There are bash, python."
std::string Unknown(const std::string& wanted,
                    const std::vector<std::string>& candidates,
                    const std::vector<std::string>& listed) {
  const std::string nearest = policy::NearestWord(wanted, candidates);
  return absl::StrCat(
      Quote(wanted), " is not known",
      nearest.empty() ? "" : absl::StrCat("; did you mean \"", nearest, "\"?"),
      nearest.empty() ? "; there are: " : " There are: ",
      absl::StrJoin(listed, ", "));
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
  violations.push_back({"language", wanted.empty()
                                        ? absl::StrCat("is empty; there are: ",
                                                       absl::StrJoin(ids, ", "))
                                        : Unknown(wanted, words, ids)});
  return nullptr;
}

bool Allows(const policy::Profile& profile, const policy::Language& language) {
  return profile.languages.empty() ||
         std::find(profile.languages.begin(), profile.languages.end(),
                   language.id) != profile.languages.end();
}

const policy::Profile* CheckProfile(const PolicySet& policy,
                                    const std::string& wanted,
                                    const policy::Language* language,
                                    Violations& violations) {
  const policy::Profile* profile = policy.FindProfile(wanted);
  if (profile == nullptr) {
    std::vector<std::string> names;
    for (const policy::Profile& known : policy.profiles()) {
      names.push_back(known.name);
    }
    violations.push_back({"profile", Unknown(wanted, names, names)});
    return nullptr;
  }
  if (language != nullptr && !Allows(*profile, *language)) {
    violations.push_back(
        {"language", absl::StrCat("profile ", profile->name, " does not allow ",
                                  language->id, "; it allows: ",
                                  absl::StrJoin(profile->languages, ", "))});
  }
  return profile;
}

// The wishes for one phase put into the profile's limits, which are raised to
// what the language needs. What it refuses names a profile that grants all of
// them, when there is one.
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
  for (const policy::Profile& other : policy.profiles()) {
    Violations problems;
    policy::ApplyRequest(policy::RaisedTo(floors, other), wishes, problems,
                         field);
    if (!problems.empty()) continue;
    if (language != nullptr && !Allows(other, *language)) continue;
    for (policy::FieldViolation& violation : refused) {
      absl::StrAppend(&violation.description, "; profile \"", other.name,
                      "\" allows it");
    }
    break;
  }
  violations.insert(violations.end(), refused.begin(), refused.end());
  return limits;
}

void CheckCode(const std::string& code, Violations& violations) {
  if (code.empty()) {
    violations.push_back({"code", "is empty; there is nothing to run"});
  } else if (code.size() > kMaxCodeBytes) {
    violations.push_back({"code", TooLarge(code.size(), kMaxCodeBytes)});
  } else if (const size_t nul = code.find('\0'); nul != std::string::npos) {
    violations.push_back(
        {"code", absl::StrCat("has a NUL byte at offset ", nul)});
  }
}

void CheckArgs(const v1::RunCodeRequest& request, Violations& violations) {
  const auto& args = request.args();
  if (args.size() > static_cast<int>(kMaxArgs)) {
    violations.push_back({"args", TooMany(args.size(), kMaxArgs)});
    return;
  }
  size_t bytes = 0;
  for (int i = 0; i < args.size(); ++i) {
    bytes += args[i].size() + 1;
    if (HasNul(args[i])) {
      violations.push_back({Indexed("args", i), "has a NUL byte"});
    }
  }
  if (bytes > kMaxArgBytes) {
    violations.push_back({"args", TooLarge(bytes, kMaxArgBytes)});
  }
}

bool IsEnvName(const std::string& name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c >= '0' && c <= '9') || c == '_';
  });
}

void CheckEnv(const v1::RunCodeRequest& request, Violations& violations) {
  size_t bytes = 0;
  for (const auto& [name, value] : request.env()) {
    bytes += name.size() + value.size() + 2;
  }
  if (bytes > kMaxEnvBytes) {
    // A word on each of millions of names would take far more than they do.
    violations.push_back({"env", TooLarge(bytes, kMaxEnvBytes)});
    return;
  }
  for (const auto& [name, value] : request.env()) {
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

// Paths that are taken already, files and directories apart: "a" can't be a
// file when "a/b" is one.
class PathSet {
 public:
  // Empty when the path is free, else what stands in its way.
  std::string Add(const std::string& path) {
    if (directories_.count(path) != 0) {
      return "is a directory for another file";
    }
    for (size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      const std::string parent = path.substr(0, slash);
      if (files_.count(parent) != 0) {
        return absl::StrCat("needs ", Quote(parent),
                            " as a directory, which is a file");
      }
    }
    if (!files_.insert(path).second) return "is there twice";
    for (size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      directories_.insert(path.substr(0, slash));
    }
    return "";
  }

 private:
  std::set<std::string> files_;
  std::set<std::string> directories_;
};

// What the compile phase puts beside the request's files.
std::set<std::string> ProductsOf(const policy::Language& language) {
  if (!language.compile) return {};
  const std::vector<std::string>& artifacts = language.compile->artifacts;
  return {artifacts.begin(), artifacts.end()};
}

void CheckFiles(const v1::RunCodeRequest& request,
                const policy::Language* language, Violations& violations) {
  const auto& files = request.files();
  if (files.size() > static_cast<int>(kMaxFiles)) {
    violations.push_back({"files", TooMany(files.size(), kMaxFiles)});
    return;
  }
  PathSet taken;
  std::set<std::string> products;
  if (language != nullptr) {
    taken.Add(language->source_file);
    products = ProductsOf(*language);
    for (const std::string& product : products) taken.Add(product);
  }
  size_t bytes = 0;
  for (int i = 0; i < files.size(); ++i) {
    const std::string& path = files[i].path();
    const std::string field = absl::StrCat(Indexed("files", i), ".path");
    bytes += files[i].content().size();
    if (const absl::Status valid = policy::ValidateRelativePath(path);
        !valid.ok()) {
      violations.push_back({field, std::string(valid.message())});
    } else if (language != nullptr && path == language->source_file) {
      violations.push_back(
          {field, absl::StrCat(Quote(path), " is where the code goes")});
    } else if (products.count(path) != 0) {
      violations.push_back(
          {field,
           absl::StrCat(Quote(path), " is where the compiled program goes")});
    } else if (const std::string conflict = taken.Add(path);
               !conflict.empty()) {
      violations.push_back({field, absl::StrCat(Quote(path), " ", conflict)});
    }
  }
  if (bytes > kMaxFileBytes) {
    violations.push_back({"files", TooLarge(bytes, kMaxFileBytes)});
  }
}

void CheckFetch(const v1::RunCodeRequest& request, Violations& violations) {
  const auto& fetch = request.fetch();
  if (fetch.size() > static_cast<int>(kMaxFetch)) {
    violations.push_back({"fetch", TooMany(fetch.size(), kMaxFetch)});
    return;
  }
  for (int i = 0; i < fetch.size(); ++i) {
    if (const absl::Status valid = policy::ValidateGlob(fetch[i]);
        !valid.ok()) {
      violations.push_back({Indexed("fetch", i), std::string(valid.message())});
    }
  }
}

void CheckMarks(const v1::RunCodeRequest& request, Violations& violations) {
  if (request.request_id().size() > kMaxRequestIdBytes) {
    violations.push_back({"request_id", TooLarge(request.request_id().size(),
                                                 kMaxRequestIdBytes)});
  } else if (!IsPrintableAscii(request.request_id())) {
    violations.push_back(
        {"request_id", "has characters that are not printable ASCII"});
  }
  if (request.labels_size() > static_cast<int>(kMaxLabels)) {
    violations.push_back(
        {"labels", TooMany(request.labels_size(), kMaxLabels)});
    return;
  }
  for (const auto& [key, value] : request.labels()) {
    if (key.empty() || key.size() > kMaxLabelKeyBytes ||
        !IsPrintableAscii(key)) {
      violations.push_back({Keyed("labels", key),
                            absl::StrCat("a key has 1 to ", kMaxLabelKeyBytes,
                                         " printable ASCII characters")});
    }
    if (value.size() > kMaxLabelValueBytes) {
      violations.push_back(
          {Keyed("labels", key), TooLarge(value.size(), kMaxLabelValueBytes)});
    } else if (std::any_of(value.begin(), value.end(), [](char c) {
                 return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
               })) {
      violations.push_back(
          {Keyed("labels", key), "the value has a control character"});
    }
  }
}

std::optional<absl::Duration> TimeWish(const google::protobuf::Duration& proto,
                                       const std::string& field,
                                       Violations& violations) {
  constexpr int64_t kMostSeconds = 315'576'000'000;  // protobuf's own bound
  if (proto.seconds() < 0 || proto.nanos() < 0 || proto.nanos() > 999'999'999 ||
      proto.seconds() > kMostSeconds) {
    violations.push_back({field, "is not a duration of zero or more"});
    return std::nullopt;
  }
  return absl::Seconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

// `field` is the request's: "limits" or "compile_limits".
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

// Fills the limits of both phases.
void CheckLimits(const PolicySet& policy, const policy::Profile* profile,
                 const policy::Language* language,
                 const v1::RunCodeRequest& request, PhaseLimits& limits,
                 Violations& violations) {
  const bool compiled = language != nullptr && language->compile.has_value();
  if (language != nullptr && !compiled && request.has_compile_limits()) {
    violations.push_back(
        {"compile_limits",
         absl::StrCat(language->name, " has no compile phase")});
  }
  const policy::LimitRequest run =
      LimitWishes(request.limits(), "limits", violations);
  const policy::LimitRequest compile =
      LimitWishes(request.compile_limits(), "compile_limits", violations);
  if (profile == nullptr) return;
  const policy::LimitFloors none;
  limits.run = ApplyWishes(policy, *profile, language,
                           language == nullptr ? none : language->limits, run,
                           "limits", violations);
  if (!compiled) return;
  limits.compile =
      ApplyWishes(policy, *profile, language, language->compile->limits,
                  compile, "compile_limits", violations);
}

}  // namespace

absl::StatusOr<ValidRequest> ValidateRunCode(const PolicySet& policy,
                                             v1::RunCodeRequest&& request,
                                             const std::string& prefix) {
  Violations violations;
  const policy::Language* language =
      CheckLanguage(policy, request.language(), violations);
  const policy::Profile* profile =
      CheckProfile(policy, request.profile(), language, violations);
  CheckCode(request.code(), violations);
  if (request.stdin().size() > kMaxStdinBytes) {
    violations.push_back(
        {"stdin", TooLarge(request.stdin().size(), kMaxStdinBytes)});
  }
  CheckArgs(request, violations);
  CheckEnv(request, violations);
  CheckFiles(request, language, violations);
  CheckFetch(request, violations);
  PhaseLimits limits;
  CheckLimits(policy, profile, language, request, limits, violations);
  CheckMarks(request, violations);
  if (!violations.empty()) {
    for (policy::FieldViolation& violation : violations) {
      violation.field.insert(0, prefix);
    }
    return InvalidRequest(violations);
  }

  return ValidRequest{
      .job = MakeJob(*language, *profile, limits, std::move(request)),
      .language = language,
      .profile = profile};
}

}  // namespace sandglass::server
