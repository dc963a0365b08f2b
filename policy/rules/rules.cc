#include "policy/rules/rules.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "policy/rules/hidden_text.h"

namespace sandglass::policy {
namespace {

// Whether `name` is `module` or something below it.
bool IsBelow(std::string_view name, std::string_view module) {
  if (name.substr(0, module.size()) != module) return false;
  if (name.size() == module.size()) return true;
  const char next = name[module.size()];
  return next == '.' || next == '/' || next == ':' || next == '(';
}

bool IsAllowed(std::string_view module, const std::string& pattern) {
  const bool below =
      absl::EndsWith(pattern, ".*") || absl::EndsWith(pattern, "/*");
  if (!below) return module == pattern;
  return IsBelow(module,
                 std::string_view(pattern).substr(0, pattern.size() - 2));
}

// "*" in the pattern stands for any characters. The time for each star is
// linear in the text, because only the latest star is ever tried again.
bool Matches(std::string_view pattern, std::string_view text) {
  size_t p = 0;
  size_t t = 0;
  size_t star = std::string_view::npos;
  size_t after_star = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after_star = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++after_star;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool FoundBy(const Rule& rule, const Fact& fact) {
  const auto any = [&](const auto& matches) {
    return std::any_of(rule.names.begin(), rule.names.end(), matches);
  };
  switch (rule.kind) {
    case RuleKind::kModules:
      return fact.kind == FactKind::kImportUnknown ||
             ((fact.kind == FactKind::kImport || fact.kind == FactKind::kUse) &&
              any([&](const std::string& n) { return IsBelow(fact.name, n); }));
    case RuleKind::kOnlyModules:
      return fact.kind == FactKind::kImportUnknown ||
             (fact.kind == FactKind::kImport && !any([&](const std::string& n) {
                return IsAllowed(fact.name, n);
              }));
    case RuleKind::kCalls:
      return fact.kind == FactKind::kUse &&
             any([&](const std::string& n) { return Matches(n, fact.name); });
    case RuleKind::kWritesFiles:
      return fact.kind == FactKind::kOpenWrite;
    case RuleKind::kUnknownImports:
      return fact.kind == FactKind::kImportUnknown;
    case RuleKind::kEndlessLoops:
      return fact.kind == FactKind::kEndlessLoop;
    case RuleKind::kHiddenText:
    case RuleKind::kEveryRun:
      return false;
  }
  return false;
}

std::string What(const Fact& fact) {
  switch (fact.kind) {
    case FactKind::kImport:
      return absl::StrCat("imports ", fact.name);
    case FactKind::kImportUnknown:
      return absl::StrCat("imports what its text doesn't name, by ", fact.name);
    case FactKind::kUse:
      return absl::StrCat("uses ", fact.name);
    case FactKind::kOpenWrite:
      return fact.detail.empty()
                 ? absl::StrCat("writes to files, by ", fact.name)
                 : absl::StrCat("opens a file for writing, by ", fact.name,
                                " (", fact.detail, ")");
    case FactKind::kEndlessLoop:
      return absl::StrCat("has an endless loop, ", fact.name);
    case FactKind::kSyntaxError:
      return absl::StrCat("is not valid: ", fact.name);
  }
  return "";
}

std::string Sentence(const Rule& rule, const std::string& what) {
  return rule.message.empty()
             ? absl::StrCat("The program ", what, ".")
             : absl::StrCat("The program ", what, ": ", rule.message);
}

bool NeedsFacts(const Rule& rule) {
  return rule.kind != RuleKind::kHiddenText && rule.kind != RuleKind::kEveryRun;
}

class Collector {
 public:
  void Add(Finding finding) {
    findings_.severest = std::max(findings_.severest, finding.severity);
    findings_.list.push_back(std::move(finding));
  }

  void AddFacts(const Rule& rule, const std::vector<Fact>& facts) {
    // One finding for each thing: for example, a module that is both imported
    // and used is reported once.
    std::set<std::string> told;
    for (const Fact& fact : facts) {
      if (!FoundBy(rule, fact)) continue;
      const std::string subject = SubjectOf(rule, fact);
      if (!told.insert(subject).second) continue;
      Add({rule.id, rule.severity, Sentence(rule, What(fact)), subject,
           fact.file, fact.line, fact.column, fact.count});
    }
  }

  void AddHiddenText(const Rule& rule,
                     const std::vector<std::string_view>& sources) {
    for (size_t i = 0; i < sources.size(); ++i) {
      const std::optional<HiddenCharacter> hidden = FindHiddenText(sources[i]);
      if (!hidden) continue;
      Add({rule.id, rule.severity,
           Sentence(rule,
                    absl::StrCat("has a character that people don't see, ",
                                 hidden->name)),
           hidden->name, static_cast<uint32_t>(i), hidden->line, hidden->column,
           hidden->count});
    }
  }

  void AddSyntaxErrors(const std::vector<Fact>& facts) {
    for (const Fact& fact : facts) {
      if (fact.kind != FactKind::kSyntaxError) continue;
      findings_.syntax_error = true;
      Add({kSyntaxErrorFound, Severity::kNote,
           absl::StrCat("The program ", What(fact), "."), fact.name, fact.file,
           fact.line, fact.column, fact.count});
    }
  }

  Findings Collect() {
    std::stable_sort(findings_.list.begin(), findings_.list.end(),
                     [](const Finding& a, const Finding& b) {
                       const auto key = [](const Finding& f) {
                         return std::make_tuple(-static_cast<int>(f.severity),
                                                f.file, f.line, f.column);
                       };
                       return key(a) < key(b);
                     });
    if (findings_.list.size() > kMaxFindings) {
      findings_.dropped =
          static_cast<uint32_t>(findings_.list.size() - kMaxFindings);
      findings_.list.resize(kMaxFindings);
    }
    return std::move(findings_);
  }

 private:
  // For a rule about modules, the subject is the module that the rule names.
  static std::string SubjectOf(const Rule& rule, const Fact& fact) {
    if (rule.kind != RuleKind::kModules) return fact.name;
    for (const std::string& name : rule.names) {
      if (IsBelow(fact.name, name)) return name;
    }
    return fact.name;
  }

  Findings findings_;
};

}  // namespace

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarn:
      return "warn";
    case Severity::kRequireApproval:
      return "require_approval";
    case Severity::kDeny:
      return "deny";
  }
  return "";
}

std::string_view RuleKindKey(RuleKind kind) {
  switch (kind) {
    case RuleKind::kModules:
      return "modules";
    case RuleKind::kOnlyModules:
      return "only_modules";
    case RuleKind::kCalls:
      return "calls";
    case RuleKind::kWritesFiles:
      return "writes_files";
    case RuleKind::kUnknownImports:
      return "unknown_imports";
    case RuleKind::kEndlessLoops:
      return "endless_loops";
    case RuleKind::kHiddenText:
      return "hidden_text";
    case RuleKind::kEveryRun:
      return "every_run";
  }
  return "";
}

bool Rule::AppliesTo(std::string_view language) const {
  return languages.empty() || std::find(languages.begin(), languages.end(),
                                        language) != languages.end();
}

bool NeedsFacts(const std::vector<Rule>& rules, std::string_view language) {
  return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
    return NeedsFacts(rule) && rule.AppliesTo(language);
  });
}

Severity SeverestFor(const std::vector<Rule>& rules,
                     std::string_view language) {
  Severity severest = Severity::kNote;
  for (const Rule& rule : rules) {
    if (NeedsFacts(rule) && rule.AppliesTo(language)) {
      severest = std::max(severest, rule.severity);
    }
  }
  return severest;
}

bool MayAskForApproval(const std::vector<Rule>& rules,
                       std::string_view language) {
  return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
    return rule.severity == Severity::kRequireApproval &&
           rule.AppliesTo(language);
  });
}

Findings ApplyRules(const std::vector<Rule>& rules, std::string_view language,
                    const std::vector<std::string_view>& sources,
                    const absl::StatusOr<std::vector<Fact>>& facts) {
  Collector collector;
  const bool facts_needed = NeedsFacts(rules, language);
  if (facts_needed && !facts.ok()) {
    collector.Add({kAnalysisFailed,
                   std::max(SeverestFor(rules, language), Severity::kWarn),
                   absl::StrCat("The program could not be looked at before "
                                "its run: ",
                                facts.status().message(), "."),
                   ""});
  }
  if (facts_needed && facts.ok()) collector.AddSyntaxErrors(*facts);
  for (const Rule& rule : rules) {
    if (!rule.AppliesTo(language)) continue;
    if (rule.kind == RuleKind::kHiddenText) {
      collector.AddHiddenText(rule, sources);
    } else if (rule.kind == RuleKind::kEveryRun) {
      collector.Add({rule.id, rule.severity,
                     rule.message.empty()
                         ? "The profile has this rule for every run."
                         : rule.message,
                     ""});
    } else if (facts.ok()) {
      collector.AddFacts(rule, *facts);
    }
  }
  return collector.Collect();
}

}  // namespace sandglass::policy
