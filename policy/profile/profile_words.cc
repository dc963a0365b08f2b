#include "policy/profile/profile_words.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/libraries/library_policy.h"
#include "policy/limits/limit_fields.h"
#include "policy/network/network_words.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr size_t kMaxNames = 12;

std::string Listed(const std::vector<std::string>& names) {
  if (names.size() <= kMaxNames) return absl::StrJoin(names, ", ");
  const std::vector<std::string> first(names.begin(),
                                       names.begin() + kMaxNames);
  return absl::StrCat(absl::StrJoin(first, ", "), " and ",
                      names.size() - kMaxNames, " more");
}

std::string LimitWords(const LimitField& field, const Profile& profile) {
  const uint64_t value = field.get(profile.limits);
  const uint64_t maximum = field.get(profile.maximum);
  const std::string_view name = LimitName(field.kind);
  return absl::StrCat(
      AbslView(name), ": ", FormatLimit(field.unit, value),
      value == maximum ? "; a request may only ask for less."
                       : absl::StrCat("; a request may ask for up to ",
                                      FormatLimit(field.unit, maximum), "."));
}

// The act that the rule is about, as the end of "a program that …".
std::string Subject(const Rule& rule) {
  switch (rule.kind) {
    case RuleKind::kModules:
      return absl::StrCat("imports or uses ", Listed(rule.names));
    case RuleKind::kOnlyModules:
      return rule.names.empty()
                 ? "imports anything"
                 : absl::StrCat("imports anything but ", Listed(rule.names));
    case RuleKind::kCalls:
      return absl::StrCat("calls or mentions ", Listed(rule.names));
    case RuleKind::kWritesFiles:
      return "opens a file for writing";
    case RuleKind::kUnknownImports:
      return "imports what its text doesn't name";
    case RuleKind::kEndlessLoops:
      return "has an endless loop without a way out";
    case RuleKind::kHiddenText:
      return "has characters that people don't see";
    case RuleKind::kEveryRun:
      return "is to run at all";
  }
  return "";
}

std::string RuleWords(const Rule& rule) {
  const std::string whose =
      rule.languages.empty()
          ? "A program that "
          : absl::StrCat("A program in ", Listed(rule.languages), " that ");
  const std::string what = absl::StrCat(whose, Subject(rule));
  switch (rule.severity) {
    case Severity::kNote:
      return absl::StrCat(what, " runs; the answer notes it (", rule.id, ").");
    case Severity::kWarn:
      return absl::StrCat(what, " runs; the answer warns of it (", rule.id,
                          ").");
    case Severity::kRequireApproval:
      return absl::StrCat(what, " runs only after a person's approval (",
                          rule.id, ").");
    case Severity::kDeny:
      return absl::StrCat(what, " doesn't run (", rule.id, ").");
  }
  return "";
}

std::string DiskWords(const DiskCap& cap, const std::string& no_disk_cap) {
  std::string words =
      absl::StrCat("Disk I/O, at most: ", DiskCapWords(cap), ".");
  if (no_disk_cap.empty()) return words;
  return absl::StrCat(words, " Not in force on this host: ", no_disk_cap, ".");
}

bool AsksPeople(const Profile& profile) {
  for (const Rule& rule : profile.rules) {
    if (rule.severity == Severity::kRequireApproval) return true;
  }
  return false;
}

std::string CommandWords(const Profile& profile) {
  if (profile.commands == SessionCommands::kDeny) {
    return "No commands can be started in its sessions.";
  }
  return profile.rules.empty()
             ? "Commands can be started in its sessions."
             : "Commands can be started in its sessions, and no rule looks at "
               "them.";
}

std::string LibraryWords(const LibraryPolicy& policy) {
  std::vector<std::string> each;
  for (const auto& [ecosystem, rules] : policy.rules) {
    each.push_back(absl::StrCat(
        std::string(EcosystemName(ecosystem)), " (",
        rules.any ? "any" : absl::StrCat(rules.allow.size(), " listed"),
        rules.deny.empty()
            ? ""
            : absl::StrCat(", not ", rules.deny.size(), " others"),
        rules.offline ? ", only what is installed already" : "", ")"));
  }
  return each.empty() ? "Requests can name no libraries."
                      : absl::StrCat("Requests can name libraries of ",
                                     Listed(each), ".");
}

}  // namespace

std::vector<std::string> DescribeProfile(const Profile& profile,
                                         const std::string& no_disk_cap) {
  std::vector<std::string> words;
  if (!profile.description.empty()) words.push_back(profile.description);
  words.push_back(
      profile.languages.empty()
          ? "All languages may be used."
          : absl::StrCat("Only ", Listed(profile.languages), " may be used."));
  for (const LimitField& field : kLimitFields) {
    words.push_back(LimitWords(field, profile));
  }
  if (profile.disk_io.any()) {
    words.push_back(DiskWords(profile.disk_io, no_disk_cap));
  }
  if (profile.image != kHostImage) {
    words.push_back(absl::StrCat(
        "Programs see the image \"", profile.image,
        "\" and nothing of the host's /usr. Their interpreters start anew for "
        "each run; sessions keep files, but no state."));
  }
  for (std::string& sentence : DescribeNetwork(profile.network.get())) {
    words.push_back(std::move(sentence));
  }
  if (profile.libraries != nullptr) {
    words.push_back(LibraryWords(*profile.libraries));
  }
  for (const auto& [name, value] : profile.env) {
    words.push_back(absl::StrCat("Every program has ", name, "=", value,
                                 " in its environment."));
  }
  words.push_back(
      absl::StrCat("System calls: the policy \"", profile.seccomp, "\"",
                   profile.seccomp_add.empty()
                       ? "."
                       : absl::StrCat(", and beyond it those of ",
                                      Listed(profile.seccomp_add), ".")));
  switch (profile.compile_cache) {
    case CompileSharing::kOff:
      words.emplace_back("Nothing that compilers made is kept.");
      break;
    case CompileSharing::kOwn:
      words.emplace_back(
          "What compilers made is kept for runs of this profile.");
      break;
    case CompileSharing::kShared:
      words.emplace_back(
          "What compilers made is kept for all profiles that share.");
      break;
  }
  words.emplace_back(
      profile.session_files == SessionFiles::kDurable
          ? "Files of sessions are there again after the daemon's restart."
          : "Files of sessions end with the daemon.");
  if (profile.redactor != nullptr) {
    std::vector<std::string> names;
    for (const Redactor::Pattern& pattern : profile.redactor->patterns()) {
      names.push_back(pattern.name);
    }
    words.push_back(
        absl::StrCat("Replaced in all outputs: ", Listed(names), "."));
  }
  for (const Rule& rule : profile.rules) words.push_back(RuleWords(rule));
  if (profile.rules.empty()) {
    words.emplace_back("No program's text is looked at before it runs.");
  }
  words.push_back(CommandWords(profile));
  if (AsksPeople(profile)) {
    words.push_back(absl::StrCat(
        "An approval can be given and used for ",
        absl::FormatDuration(profile.approval.expires_after), ", by ",
        profile.approval.self_approval ? "an approver or by the caller itself."
                                       : "an approver who isn't the caller."));
  }
  return words;
}

}  // namespace sandglass::policy
