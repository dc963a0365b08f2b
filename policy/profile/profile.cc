#include "policy/profile/profile.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/libraries/library_profile.h"
#include "policy/limits/limit_fields.h"
#include "policy/limits/limit_floors.h"
#include "policy/network/network_profile.h"
#include "policy/text/json_reader.h"
#include "policy/text/names.h"
#include "policy/text/units.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr uint64_t kPage = 4096;

std::string FieldPath(std::string_view prefix, LimitKind kind) {
  const char* separator = !prefix.empty() && prefix.front() == '/' ? "/" : ".";
  const std::string_view name = LimitName(kind);
  return absl::StrCat(AbslView(prefix), separator, AbslView(name));
}

void CheckLanguages(const Profile& profile, JsonObject& root) {
  const std::vector<std::string>& ids = profile.languages;
  for (auto id = ids.begin(); id != ids.end(); ++id) {
    const std::string pointer = absl::StrCat("/languages/", id - ids.begin());
    if (!IsLanguageId(*id)) {
      root.AddErrorAt(pointer, "expected a language's id such as \"python\"");
    } else if (std::find(ids.begin(), id, *id) != id) {
      root.AddErrorAt(pointer, absl::StrCat("\"", *id, "\" is given twice"));
    }
  }
}

// The names become parts of files' paths. Whether the files exist is checked by
// the code that reads them.
void CheckAdditions(const Profile& profile, JsonObject& root) {
  const std::vector<std::string>& names = profile.seccomp_add;
  for (auto name = names.begin(); name != names.end(); ++name) {
    const std::string pointer =
        absl::StrCat("/seccomp_add/", name - names.begin());
    if (!IsPolicyName(*name)) {
      root.AddErrorAt(pointer, "expected an addition's name, [a-z][a-z0-9-]*");
    } else if (std::find(names.begin(), name, *name) != name) {
      root.AddErrorAt(pointer, absl::StrCat("\"", *name, "\" is given twice"));
    }
  }
}

void CheckEnv(const Profile& profile, JsonObject& root) {
  if (profile.env.empty()) return;
  JsonObject env = root.Object("env");
  for (const auto& [name, value] : profile.env) {
    if (!IsEnvName(name)) {
      env.AddError(name, "names match [A-Za-z_][A-Za-z0-9_]*");
    }
    if (value.find('\0') != std::string::npos) {
      env.AddError(name, "the value has a NUL character");
    }
  }
}

// Formats two values of one limit for a message: rounded, but never so that
// different values look the same.
std::pair<std::string, std::string> FormatTwo(LimitUnit unit, uint64_t a,
                                              uint64_t b) {
  std::pair<std::string, std::string> texts = {FormatLimit(unit, a),
                                               FormatLimit(unit, b)};
  if (a != b && texts.first == texts.second) {
    const char* suffix = unit == LimitUnit::kBytes         ? " B"
                         : unit == LimitUnit::kNanoseconds ? " ns"
                                                           : "";
    texts = {absl::StrCat(a, suffix), absl::StrCat(b, suffix)};
  }
  return texts;
}

std::vector<FieldViolation> CheckRanges(const Limits& limits,
                                        std::string_view prefix) {
  std::vector<FieldViolation> problems;
  for (const LimitField& field : kLimitFields) {
    const uint64_t value = field.get(limits);
    if (value < field.min) {
      const auto [is, min] = FormatTwo(field.unit, value, field.min);
      problems.push_back(
          {FieldPath(prefix, field.kind),
           absl::StrCat(is, " is too small to work; it takes at least ", min)});
    } else if (value > field.max) {
      const auto [is, max] = FormatTwo(field.unit, value, field.max);
      problems.push_back(
          {FieldPath(prefix, field.kind),
           absl::StrCat(is, " is too large; it takes at most ", max)});
    }
  }
  return problems;
}

void CheckDisks(const Limits& limits, std::string_view prefix,
                std::vector<FieldViolation>& problems) {
  const uint64_t half = limits.memory_bytes / 2;
  if (limits.tmp_bytes <= half &&
      limits.workspace_bytes <= half - limits.tmp_bytes) {
    return;
  }
  // The message names the larger one, because that is where to save.
  const LimitKind kind = limits.tmp_bytes > limits.workspace_bytes
                             ? LimitKind::kTmpBytes
                             : LimitKind::kWorkspaceBytes;
  problems.push_back(
      {FieldPath(prefix, kind),
       absl::StrCat("tmp_bytes (", FormatBytes(limits.tmp_bytes),
                    ") and workspace_bytes (",
                    FormatBytes(limits.workspace_bytes),
                    ") live in memory and together may take at most half of "
                    "memory_bytes, ",
                    FormatBytes(half))});
}

// Compares the numbers with each other. Called only if each number is in its
// range, so that nothing is reported twice.
std::vector<FieldViolation> CheckPair(const Profile& profile) {
  std::vector<FieldViolation> problems = CheckLimits(profile.limits, "/limits");
  for (FieldViolation& problem : CheckLimits(profile.maximum, "/maximum")) {
    problems.push_back(std::move(problem));
  }
  for (const LimitField& field : kLimitFields) {
    const uint64_t value = field.get(profile.limits);
    const uint64_t maximum = field.get(profile.maximum);
    if (value <= maximum) continue;
    const auto [max, is] = FormatTwo(field.unit, maximum, value);
    problems.push_back(
        {FieldPath("/maximum", field.kind),
         absl::StrCat(max, " is below the default in /limits, ", is)});
  }
  return problems;
}

CompileSharing ReadSharing(JsonObject& root) {
  const std::string text = root.String("compile_cache", "own");
  for (const CompileSharing sharing :
       {CompileSharing::kOff, CompileSharing::kOwn, CompileSharing::kShared}) {
    if (text == CompileSharingName(sharing)) return sharing;
  }
  root.AddError("compile_cache", "expected \"own\", \"shared\" or \"off\"");
  return CompileSharing::kOff;
}

SessionFiles ReadSessionFiles(JsonObject& root) {
  const std::string text = root.String("session_files", "memory");
  for (const SessionFiles files :
       {SessionFiles::kMemory, SessionFiles::kDurable}) {
    if (text == SessionFilesName(files)) return files;
  }
  root.AddError("session_files", "expected \"memory\" or \"durable\"");
  return SessionFiles::kMemory;
}

// A rule would be useless if a command could circumvent it.
bool HasGate(const std::vector<Rule>& rules) {
  return std::any_of(rules.begin(), rules.end(), [](const Rule& rule) {
    return rule.severity >= Severity::kRequireApproval;
  });
}

SessionCommands ReadCommands(JsonObject& root, const std::vector<Rule>& rules) {
  const SessionCommands otherwise =
      HasGate(rules) ? SessionCommands::kDeny : SessionCommands::kAllow;
  const std::string text =
      root.String("commands", std::string(SessionCommandsName(otherwise)));
  for (const SessionCommands commands :
       {SessionCommands::kAllow, SessionCommands::kDeny}) {
    if (text == SessionCommandsName(commands)) return commands;
  }
  root.AddError("commands", "expected \"allow\" or \"deny\"");
  return SessionCommands::kDeny;
}

absl::StatusOr<Profile> ReadProfile(const std::string& name,
                                    absl::StatusOr<JsonDocument> document,
                                    const RedactionList& redactions) {
  if (!document.ok()) return document.status();
  JsonObject root = document->root();
  Profile profile;
  profile.name = name;
  if (!IsPolicyName(name)) {
    root.AddError("",
                  "the file's name is the profile's and has to match "
                  "[a-z][a-z0-9-]*, at most 32 characters");
  }
  profile.description = root.String("description");
  if (root.Has("description") && profile.description.empty()) {
    root.AddError("description", "is empty; say what the profile is for");
  }
  if (auto object = root.OptionalObject("limits")) {
    ReadLimits(*object, profile.limits);
  }
  profile.maximum = profile.limits;
  const auto maximum = root.OptionalObject("maximum");
  if (maximum) ReadLimits(*maximum, profile.maximum);
  profile.languages = root.Strings("languages", std::vector<std::string>());
  CheckLanguages(profile, root);
  profile.env = root.StringMap("env", JsonObject::StringPairs());
  CheckEnv(profile, root);
  profile.seccomp = root.String("seccomp", "default");
  // The name becomes part of a file's path.
  if (!IsPolicyName(profile.seccomp)) {
    root.AddError("seccomp",
                  "expected a system call policy's name, [a-z][a-z0-9-]*");
  }
  profile.seccomp_add = root.Strings("seccomp_add", std::vector<std::string>());
  CheckAdditions(profile, root);
  profile.compile_cache = ReadSharing(root);
  profile.session_files = ReadSessionFiles(root);
  profile.disk_io = ReadDiskCap(root);
  profile.image = root.String("image", std::string(kHostImage));
  if (!IsPolicyName(profile.image)) {
    root.AddError("image", "expected an image's name, [a-z][a-z0-9-]*");
  }
  profile.network = ReadNetwork(root, name);
  profile.libraries =
      std::make_shared<const LibraryPolicy>(ReadLibraries(root, name));
  profile.canonical = document->Canonical();
  profile.rules = ReadRules(root);
  profile.approval = ReadApproval(root);
  profile.commands = ReadCommands(root, profile.rules);
  profile.redactor = ReadRedaction(root, redactions);
  if (absl::Status status = document->Finish(); !status.ok()) return status;

  for (const FieldViolation& problem : CheckPair(profile)) {
    // Without a "maximum" its values are those of "limits", which were reported
    // already.
    if (!maximum && problem.field.rfind("/maximum", 0) == 0) continue;
    root.AddErrorAt(problem.field, problem.description);
  }
  if (profile.network != nullptr) CheckNetwork(*profile.network, root);
  if (absl::Status status = document->Finish(); !status.ok()) return status;
  return profile;
}

// Shrinks the disk limits that the request didn't name to what is left of half
// of the memory.
void ShrinkDisks(const LimitRequest& request, Limits& limits) {
  const uint64_t half = limits.memory_bytes / 2;
  const uint64_t tmp = limits.tmp_bytes;
  const uint64_t workspace = limits.workspace_bytes;
  if (tmp <= half && workspace <= half - tmp) return;
  const auto rest = [half](uint64_t named, LimitKind kind) {
    // If nothing is left, this is the smallest value that works; the check of
    // the sum then refuses what was named.
    const uint64_t left = named < half ? (half - named) / kPage * kPage : 0;
    return std::max(left, FieldOf(kind).min);
  };
  if (request.tmp_bytes && request.workspace_bytes) return;
  if (request.tmp_bytes) {
    limits.workspace_bytes =
        std::min(workspace, rest(tmp, LimitKind::kWorkspaceBytes));
  } else if (request.workspace_bytes) {
    limits.tmp_bytes = std::min(tmp, rest(workspace, LimitKind::kTmpBytes));
  } else {
    // Both keep their proportion to each other.
    const double share =
        static_cast<double>(half) /
        (static_cast<double>(tmp) + static_cast<double>(workspace));
    const auto scaled = [share](uint64_t bytes, LimitKind kind) {
      const auto value =
          static_cast<uint64_t>(static_cast<double>(bytes) * share);
      return std::max(value / kPage * kPage, FieldOf(kind).min);
    };
    limits.tmp_bytes = scaled(tmp, LimitKind::kTmpBytes);
    limits.workspace_bytes =
        std::min(scaled(workspace, LimitKind::kWorkspaceBytes),
                 rest(limits.tmp_bytes, LimitKind::kWorkspaceBytes));
  }
}

}  // namespace

std::string_view CompileSharingName(CompileSharing sharing) {
  switch (sharing) {
    case CompileSharing::kOff:
      return "off";
    case CompileSharing::kOwn:
      return "own";
    case CompileSharing::kShared:
      return "shared";
  }
  return "";
}

std::string_view SessionFilesName(SessionFiles files) {
  return files == SessionFiles::kDurable ? "durable" : "memory";
}

std::string_view SessionCommandsName(SessionCommands commands) {
  return commands == SessionCommands::kDeny ? "deny" : "allow";
}

absl::StatusOr<std::vector<Profile>> LoadProfiles(
    const std::string& directory, const RedactionList& redactions) {
  const auto files = ListJsonFiles(directory);
  if (!files.ok()) return files.status();
  std::vector<Profile> profiles;
  std::vector<std::string> errors;
  for (const auto& [name, path] : *files) {
    absl::StatusOr<Profile> profile =
        ReadProfile(name, JsonDocument::ReadFile(path), redactions);
    if (profile.ok()) {
      profiles.push_back(*std::move(profile));
    } else {
      errors.emplace_back(profile.status().message());
    }
  }
  if (!errors.empty()) {
    return absl::InvalidArgumentError(absl::StrJoin(errors, "\n"));
  }
  return profiles;
}

absl::StatusOr<Profile> ParseProfile(const std::string& name,
                                     std::string_view text,
                                     const RedactionList& redactions) {
  return ReadProfile(name, JsonDocument::Parse(text, name + ".json"),
                     redactions);
}

bool AllowsLanguage(const Profile& profile, std::string_view language) {
  return profile.languages.empty() ||
         std::find(profile.languages.begin(), profile.languages.end(),
                   language) != profile.languages.end();
}

Profile RaisedTo(const LimitFloors& floors, const Profile& profile) {
  Profile raised = profile;
  RaiseTo(floors, raised.limits);
  RaiseTo(floors, raised.maximum);
  return raised;
}

std::vector<FieldViolation> CheckLimits(const Limits& limits,
                                        std::string_view prefix) {
  std::vector<FieldViolation> problems = CheckRanges(limits, prefix);
  if (problems.empty()) CheckDisks(limits, prefix, problems);
  return problems;
}

Limits ApplyRequest(const Profile& profile, const LimitRequest& request,
                    std::vector<FieldViolation>& violations,
                    std::string_view prefix) {
  Limits limits = profile.limits;
  bool refused = false;
  for (const LimitField& field : kLimitFields) {
    const std::optional<uint64_t> wish = field.wish(request);
    if (!wish) continue;
    const uint64_t maximum = field.get(profile.maximum);
    if (*wish > maximum) {
      const auto [is, max] = FormatTwo(field.unit, *wish, maximum);
      violations.push_back({FieldPath(prefix, field.kind),
                            absl::StrCat(is,
                                         " is above the maximum of profile "
                                         "\"",
                                         profile.name, "\", ", max)});
      refused = true;
      continue;
    }
    field.set(limits, *wish);
  }
  if (request.memory_bytes) ShrinkDisks(request, limits);
  std::vector<FieldViolation> problems = CheckRanges(limits, prefix);
  // After a refusal, the check of the sum would report values that nobody asked
  // for.
  if (problems.empty() && !refused) CheckDisks(limits, prefix, problems);
  std::move(problems.begin(), problems.end(), std::back_inserter(violations));
  return limits;
}

}  // namespace sandglass::policy
