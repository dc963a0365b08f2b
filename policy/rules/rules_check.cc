// Checks whether the rules of a profile can be applied together.

#include <algorithm>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "policy/rules/rules.h"

namespace sandglass::policy {
namespace {

bool Has(const std::vector<std::string>& list, const std::string& wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

std::string Pointer(size_t index) { return absl::StrCat("/rules/", index); }

bool IsGate(const Rule& rule) {
  return rule.severity >= Severity::kRequireApproval;
}

bool LooksAtText(const Rule& rule) {
  return rule.kind == RuleKind::kHiddenText || rule.kind == RuleKind::kEveryRun;
}

// The first language to which both rules apply, if any.
std::optional<std::string> CommonLanguage(const Rule& a, const Rule& b,
                                          const RuleLanguages& languages) {
  for (const std::string& id : languages.known) {
    if (a.AppliesTo(id) && b.AppliesTo(id)) return id;
  }
  return std::nullopt;
}

absl::Status CheckLanguagesOf(const Rule& rule, const std::string& pointer,
                              const RuleLanguages& languages) {
  for (const std::string& id : rule.languages) {
    if (!Has(languages.known, id)) {
      return absl::InvalidArgumentError(
          absl::StrCat(pointer, "/languages: \"", id,
                       "\" is not a language's id; there are ",
                       absl::StrJoin(languages.known, ", ")));
    }
    if (!languages.allowed.empty() && !Has(languages.allowed, id)) {
      return absl::InvalidArgumentError(absl::StrCat(
          pointer, "/languages: \"", id,
          "\" is not among the profile's \"languages\", so the rule would "
          "never be applied"));
    }
    if (!LooksAtText(rule) && !Has(languages.analysed, id)) {
      return absl::InvalidArgumentError(absl::StrCat(
          pointer, "/languages: \"", id,
          "\" has no analyser, so only \"hidden_text\" and \"every_run\" can "
          "be asked of it; analysers are there for ",
          absl::StrJoin(languages.analysed, ", ")));
    }
  }
  if (!rule.languages.empty() || LooksAtText(rule) || !IsGate(rule)) {
    return absl::OkStatus();
  }
  // A gate that programs in some languages pass unexamined would be useless.
  for (const std::string& id :
       languages.allowed.empty() ? languages.known : languages.allowed) {
    if (!Has(languages.analysed, id)) {
      return absl::InvalidArgumentError(absl::StrCat(
          pointer, ": the rule is for all languages, but ", id,
          " has no analyser and would pass; name the rule's \"languages\", or "
          "leave ",
          id, " out of the profile's"));
    }
  }
  return absl::OkStatus();
}

// A name that one of the rules allows and the other forbids.
std::optional<std::string> Disputed(const Rule& allows, const Rule& forbids) {
  for (const std::string& name : allows.names) {
    const std::string plain =
        absl::EndsWith(name, ".*") || absl::EndsWith(name, "/*")
            ? name.substr(0, name.size() - 2)
            : name;
    for (const std::string& forbidden : forbids.names) {
      if (plain == forbidden || absl::StartsWith(plain, forbidden + ".") ||
          absl::StartsWith(plain, forbidden + "/")) {
        return name;
      }
    }
  }
  return std::nullopt;
}

std::optional<std::string> SharedName(const Rule& a, const Rule& b) {
  for (const std::string& name : a.names) {
    if (Has(b.names, name)) return name;
  }
  return std::nullopt;
}

// Says how two rules contradict each other; empty when they don't.
std::string Contradiction(const Rule& a, const Rule& b) {
  if (a.id == b.id) {
    return absl::StrCat("there are two rules with the id \"", a.id, "\"");
  }
  const bool both_allow =
      a.kind == RuleKind::kOnlyModules && b.kind == RuleKind::kOnlyModules;
  if (both_allow) {
    return absl::StrCat("\"", a.id, "\" and \"", b.id,
                        "\" both say which modules alone may be imported; "
                        "make one list of them");
  }
  const Rule* allows = a.kind == RuleKind::kOnlyModules   ? &a
                       : b.kind == RuleKind::kOnlyModules ? &b
                                                          : nullptr;
  const Rule* forbids = allows == &a ? &b : &a;
  if (allows != nullptr && forbids->kind == RuleKind::kModules) {
    if (const auto name = Disputed(*allows, *forbids)) {
      return absl::StrCat("\"", allows->id, "\" allows ", *name, ", which \"",
                          forbids->id, "\" is against");
    }
  }
  const bool named = a.kind == RuleKind::kModules || a.kind == RuleKind::kCalls;
  if (named && a.kind == b.kind && a.severity != b.severity) {
    if (const auto name = SharedName(a, b)) {
      return absl::StrCat(
          *name, " is \"", std::string(SeverityName(a.severity)), "\" by \"",
          a.id, "\" and \"", std::string(SeverityName(b.severity)), "\" by \"",
          b.id, "\"");
    }
  }
  return "";
}

}  // namespace

absl::Status CheckRules(const std::vector<Rule>& rules,
                        const RuleLanguages& languages) {
  for (size_t i = 0; i < rules.size(); ++i) {
    if (absl::Status status = CheckLanguagesOf(rules[i], Pointer(i), languages);
        !status.ok()) {
      return status;
    }
    for (size_t j = 0; j < i; ++j) {
      const std::string problem = Contradiction(rules[j], rules[i]);
      if (problem.empty()) continue;
      const auto common = CommonLanguage(rules[j], rules[i], languages);
      if (!common && rules[i].id != rules[j].id) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(Pointer(i), ": ", problem));
    }
  }
  return absl::OkStatus();
}

}  // namespace sandglass::policy
