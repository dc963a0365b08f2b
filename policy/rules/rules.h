#ifndef SANDGLASS_POLICY_RULES_RULES_H_
#define SANDGLASS_POLICY_RULES_RULES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "policy/rules/facts.h"

namespace sandglass::policy {

// What a finding does to its run; values equal sandglass.v1.Severity.
enum class Severity {
  kNote = 1,             // told
  kWarn = 2,             // told
  kRequireApproval = 3,  // a person has to approve the run first
  kDeny = 4,             // the run doesn't start
};

// "note", "warn", "require_approval" or "deny".
std::string_view SeverityName(Severity severity);

enum class RuleKind {
  kModules,         // imports, or uses something of, one of these
  kOnlyModules,     // imports one that isn't one of these
  kCalls,           // calls or mentions one of these
  kWritesFiles,     // opens a file for writing
  kUnknownImports,  // imports what its text doesn't name
  kEndlessLoops,    // has a loop with no way out
  kHiddenText,      // has characters that make it look like another program
  kEveryRun,        // is there
};

// The key in a profile that makes a rule this kind, for example "modules".
std::string_view RuleKindKey(RuleKind kind);

// One rule of a profile. Rules look at a program's text before it runs. They
// are policy and no boundary: a program can do what its text doesn't show, and
// then the jail is what holds it.
struct Rule {
  std::string id;  // [a-z][a-z0-9-]{0,31}
  Severity severity;
  std::string message;                 // for people; may be empty
  std::vector<std::string> languages;  // ids; empty: all that have an analyser
  RuleKind kind;
  // Of kModules a name stands for itself and what is below it ("os" for
  // "os.path"). Of kOnlyModules for itself, and with ".*" or "/*" at its end
  // for all below as well. Of kCalls "*" stands for any characters. Empty for
  // the other kinds.
  std::vector<std::string> names;

  bool AppliesTo(std::string_view language) const;
};

// What a rule found in a program.
struct Finding {
  std::string rule;  // its id, or one of those below
  Severity severity;
  std::string message;  // one plain sentence
  std::string subject;  // what was found, for example "os.system"; may be empty
  // Where it is first: which of the sources, from 0, and as in Fact; line 0:
  // nowhere in particular.
  uint32_t file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t count = 1;

  friend bool operator==(const Finding&, const Finding&) = default;
};

// Findings that are no rule's. The program could not be looked at; it counts
// as if the severest of the rules that wait for that had found something.
inline constexpr char kAnalysisFailed[] = "analysis-failed";
// It is no program: a note, since its language refuses to run it.
inline constexpr char kSyntaxErrorFound[] = "syntax-error";

// More than so many are counted and left out, the least severe first.
inline constexpr size_t kMostFindings = 100;

// What the rules say to a program.
struct Findings {
  std::vector<Finding> list;  // the severest first, then by place
  uint32_t dropped = 0;
  // Its language will refuse it; if it doesn't, nothing was looked at.
  bool syntax_error = false;
  // The severest of all, those that were left out too; kNote where there are
  // none.
  Severity severest = Severity::kNote;
};

// Whether a rule for the language needs what an analyser tells.
bool NeedsFacts(const std::vector<Rule>& rules, std::string_view language);

// The severest of these rules; kNote where there are none.
Severity SeverestFor(const std::vector<Rule>& rules, std::string_view language);

// Whether a rule may want a person to approve a run of the language.
bool MayAskForApproval(const std::vector<Rule>& rules,
                       std::string_view language);

// Applies the rules to a program: `sources` are its files' texts, the first
// its main one; `facts` what the analyser told, ignored where no rule needs
// it. Pure: the same rules and program give the same findings.
Findings ApplyRules(const std::vector<Rule>& rules, std::string_view language,
                    const std::vector<std::string_view>& sources,
                    const absl::StatusOr<std::vector<Fact>>& facts);

// What rules are checked against.
struct RuleLanguages {
  std::vector<std::string> known;     // all ids
  std::vector<std::string> analysed;  // those with an analyser
  std::vector<std::string> allowed;   // the profile's; empty: all
};

// INVALID_ARGUMENT, with the rule's JSON pointer, when rules contradict each
// other or can't be applied to a language that they are for.
absl::Status CheckRules(const std::vector<Rule>& rules,
                        const RuleLanguages& languages);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_RULES_RULES_H_
