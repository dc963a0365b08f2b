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

// What a finding means for its run; the values equal sandglass.v1.Severity.
enum class Severity {
  kNote = 1,             // it is reported
  kWarn = 2,             // it is reported
  kRequireApproval = 3,  // a person has to approve the run first
  kDeny = 4,             // the run doesn't start
};

// "note", "warn", "require_approval" or "deny".
std::string_view SeverityName(Severity severity);

enum class RuleKind {
  kModules,         // imports one of these, or uses something of it
  kOnlyModules,     // imports one that isn't one of these
  kCalls,           // calls or mentions one of these
  kWritesFiles,     // opens a file for writing
  kUnknownImports,  // imports what its text doesn't name
  kEndlessLoops,    // has a loop with no way out
  kHiddenText,      // has characters that make it look like another program
  kEveryRun,        // finds every program
};

// The key in a profile that gives a rule this kind, for example "modules".
std::string_view RuleKindKey(RuleKind kind);

// One rule of a profile. Rules examine a program's text before it runs. They
// express a policy and are no security boundary: a program can do things that
// its text doesn't show, and then only the jail confines it.
struct Rule {
  std::string id;  // [a-z][a-z0-9-]{0,31}
  Severity severity;
  std::string message;                 // for people; may be empty
  std::vector<std::string> languages;  // ids; empty: all that have an analyser
  RuleKind kind;
  // For kModules a name stands for itself and what is below it ("os" for
  // "os.path"). For kOnlyModules it stands for itself, and with ".*" or "/*" at
  // its end also for everything below. For kCalls "*" stands for any
  // characters. Empty for the other kinds.
  std::vector<std::string> names;

  bool AppliesTo(std::string_view language) const;
};

// Something that a rule has found in a program.
struct Finding {
  std::string rule;  // its id, or one of those below
  Severity severity;
  std::string message;  // one plain sentence
  std::string subject;  // what was found, for example "os.system"; may be empty
  // The first place: the index of the source, and line and column as in Fact.
  // Line 0: no particular place.
  uint32_t file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  uint32_t count = 1;

  friend bool operator==(const Finding&, const Finding&) = default;
};

// Findings that don't come from a rule. The program could not be analysed; this
// counts as if the most severe of the rules that need the analysis had found
// something.
inline constexpr char kAnalysisFailed[] = "analysis-failed";
// The text isn't a program: only a note, since its language will refuse to run
// it.
inline constexpr char kSyntaxErrorFound[] = "syntax-error";

// Findings beyond this number are counted and left out, the least severe first.
inline constexpr size_t kMaxFindings = 100;

// The result of applying the rules to a program.
struct Findings {
  std::vector<Finding> list;  // the most severe first, then by place
  uint32_t dropped = 0;
  // The language will refuse the program; if it doesn't, the program wasn't
  // examined.
  bool syntax_error = false;
  // The highest severity, including findings that were left out; kNote when
  // there are none.
  Severity severest = Severity::kNote;
};

// Whether a rule for the language needs an analyser's facts.
bool NeedsFacts(const std::vector<Rule>& rules, std::string_view language);

// The highest severity of these rules; kNote when there are none.
Severity SeverestFor(const std::vector<Rule>& rules, std::string_view language);

// Whether a rule may require a person to approve a run in this language.
bool MayAskForApproval(const std::vector<Rule>& rules,
                       std::string_view language);

// Applies the rules to a program. `sources` are the texts of its files, the
// main file first; `facts` are the analyser's, and are ignored when no rule
// needs them. A pure function: the same rules and program give the same
// findings.
Findings ApplyRules(const std::vector<Rule>& rules, std::string_view language,
                    const std::vector<std::string_view>& sources,
                    const absl::StatusOr<std::vector<Fact>>& facts);

// What the rules are checked against.
struct RuleLanguages {
  std::vector<std::string> known;     // all ids
  std::vector<std::string> analysed;  // those with an analyser
  std::vector<std::string> allowed;   // the profile's; empty: all
};

// INVALID_ARGUMENT, with the rule's JSON pointer, when rules contradict each
// other or can't be applied to one of their languages.
absl::Status CheckRules(const std::vector<Rule>& rules,
                        const RuleLanguages& languages);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_RULES_RULES_H_
