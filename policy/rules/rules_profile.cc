#include "policy/rules/rules_profile.h"

#include <iterator>
#include <optional>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "policy/text/names.h"

namespace sandglass::policy {
namespace {

constexpr size_t kMaxRules = 200;
constexpr size_t kMaxNames = 1000;
// The bound for all rules together: each rule is compared with each other one,
// and with the names in programs.
constexpr size_t kMaxNamesInAll = 2000;
constexpr size_t kMaxMessageBytes = 500;

constexpr RuleKind kNamedKinds[] = {RuleKind::kModules, RuleKind::kOnlyModules,
                                    RuleKind::kCalls};
constexpr RuleKind kPlainKinds[] = {
    RuleKind::kWritesFiles, RuleKind::kUnknownImports, RuleKind::kEndlessLoops,
    RuleKind::kHiddenText, RuleKind::kEveryRun};

bool IsPrintable(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
}

// Why a rule of this kind can't have this name; empty when it can.
std::string WrongName(RuleKind kind, const std::string& name) {
  if (name.empty()) return "is empty";
  if (name.size() > kMaxFactNameBytes || !IsPrintable(name) ||
      name.find(' ') != std::string::npos) {
    return absl::StrCat("expected a name without blanks, at most ",
                        kMaxFactNameBytes, " bytes");
  }
  const size_t star = name.find('*');
  if (star == std::string::npos || kind == RuleKind::kCalls) return "";
  if (kind == RuleKind::kModules) {
    return "\"*\" is not for \"modules\": a name stands for what is below it "
           "as well";
  }
  const bool at_end = star + 1 == name.size() && star > 1 &&
                      (name[star - 1] == '.' || name[star - 1] == '/');
  return at_end ? "" : "\"*\" can only be the end: \"name.*\" or \"name/*\"";
}

Severity ReadSeverity(JsonObject& object) {
  const std::string text = object.String("severity");
  for (const Severity severity :
       {Severity::kNote, Severity::kWarn, Severity::kRequireApproval,
        Severity::kDeny}) {
    if (text == SeverityName(severity)) return severity;
  }
  if (object.Has("severity")) {
    object.AddError("severity",
                    "expected \"note\", \"warn\", \"require_approval\" or "
                    "\"deny\"");
  }
  return Severity::kDeny;
}

void ReadNames(JsonObject& object, Rule& rule) {
  const std::string key(RuleKindKey(rule.kind));
  rule.names = object.Strings(key);
  if (rule.names.size() > kMaxNames) {
    object.AddError(key,
                    absl::StrCat("has ", rule.names.size(),
                                 " names; it may have at most ", kMaxNames));
    return;
  }
  // An empty list of allowed modules is meaningful: none may be imported.
  if (rule.names.empty() && rule.kind != RuleKind::kOnlyModules) {
    object.AddError(key, "is empty, so the rule would never find anything");
  }
  for (size_t i = 0; i < rule.names.size(); ++i) {
    const std::string pointer = absl::StrCat(object.Pointer(key), "/", i);
    if (const std::string wrong = WrongName(rule.kind, rule.names[i]);
        !wrong.empty()) {
      object.AddErrorAt(pointer, wrong);
    } else if (const auto before = absl::MakeSpan(rule.names).first(i);
               absl::c_linear_search(before, rule.names[i])) {
      object.AddErrorAt(pointer,
                        absl::StrCat("\"", rule.names[i], "\" is given twice"));
    }
  }
}

// Reads what the rule looks for; exactly one of these keys has to be there.
void ReadKind(JsonObject& object, Rule& rule) {
  std::optional<RuleKind> kind;
  const auto take = [&](RuleKind found) {
    if (kind) {
      object.AddError(
          RuleKindKey(found),
          absl::StrCat("a rule looks for one thing; \"",
                       std::string(RuleKindKey(*kind)), "\" is here already"));
      return false;
    }
    kind = rule.kind = found;
    return true;
  };
  for (const RuleKind named : kNamedKinds) {
    if (!object.Has(RuleKindKey(named))) continue;
    if (take(named)) {
      ReadNames(object, rule);
    } else {
      (void)object.Strings(RuleKindKey(named));
    }
  }
  for (const RuleKind plain : kPlainKinds) {
    if (!object.Has(RuleKindKey(plain))) continue;
    const bool wanted = object.Bool(RuleKindKey(plain));
    if (take(plain) && !wanted) {
      object.AddError(RuleKindKey(plain),
                      "expected true; leave the rule out where it isn't "
                      "wanted");
    }
  }
  if (!kind) {
    object.AddError("",
                    "says nothing to look for; it takes \"modules\", "
                    "\"only_modules\", \"calls\", \"writes_files\", "
                    "\"unknown_imports\", \"endless_loops\", "
                    "\"hidden_text\" or \"every_run\"");
  }
}

Rule ReadRule(JsonObject& object) {
  Rule rule = {};
  rule.id = object.String("id");
  if (object.Has("id") && !IsPolicyName(rule.id)) {
    object.AddError("id", "expected [a-z][a-z0-9-]*, at most 32 characters");
  } else if (rule.id == kAnalysisFailed || rule.id == kSyntaxErrorFound) {
    object.AddError("id", "is the id of a finding that is no rule's");
  }
  rule.severity = ReadSeverity(object);
  rule.message = object.String("message", "");
  if (rule.message.size() > kMaxMessageBytes || !IsPrintable(rule.message)) {
    object.AddError("message", absl::StrCat("expected one line of at most ",
                                            kMaxMessageBytes, " bytes"));
  }
  if (object.Has("languages")) {
    rule.languages = object.Strings("languages");
    if (rule.languages.empty()) {
      object.AddError("languages",
                      "is empty; leave it out to mean all languages");
    }
  }
  ReadKind(object, rule);
  return rule;
}

}  // namespace

std::vector<Rule> ReadRules(JsonObject& profile) {
  std::vector<Rule> rules;
  if (!profile.Has("rules")) return rules;
  std::vector<JsonObject> objects = profile.Objects("rules");
  if (objects.size() > kMaxRules) {
    profile.AddError("rules",
                     absl::StrCat("has ", objects.size(),
                                  " rules; there can be at most ", kMaxRules));
    return rules;
  }
  size_t names = 0;
  for (JsonObject& object : objects) {
    rules.push_back(ReadRule(object));
    names += rules.back().names.size();
  }
  if (names > kMaxNamesInAll) {
    profile.AddError("rules", absl::StrCat("have ", names,
                                           " names together; they may have at "
                                           "most ",
                                           kMaxNamesInAll));
  }
  return rules;
}

ApprovalPolicy ReadApproval(JsonObject& profile) {
  ApprovalPolicy approval;
  if (auto object = profile.OptionalObject("approval")) {
    approval.self_approval = object->Bool("self_approval", false);
    approval.expires_after = object->Duration(
        "expires_after", {.min = absl::Seconds(1), .max = absl::Hours(24)},
        approval.expires_after);
  }
  return approval;
}

}  // namespace sandglass::policy
