// What an analyser says of a program, and what rules make of it. What is taken
// for facts stands for what was said; findings keep to their bounds, and a
// place that is told is one in the sources.
#include <string>
#include <string_view>
#include <vector>

#include "policy/rules/facts.h"
#include "policy/rules/rules.h"
#include "policy/text/utf8.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::policy {
namespace {

std::vector<Rule> AllRules(const std::string& name) {
  std::vector<Rule> rules;
  for (int kind = 0; kind <= static_cast<int>(RuleKind::kEveryRun); ++kind) {
    const auto which = static_cast<RuleKind>(kind);
    const bool named = which <= RuleKind::kCalls;
    rules.push_back({"rule-" + std::to_string(kind),
                     static_cast<Severity>(1 + kind % 4),
                     "",
                     {},
                     which,
                     named ? std::vector<std::string>{name, "os", "*.x*y"}
                           : std::vector<std::string>()});
  }
  return rules;
}

void Run(fuzz::Input input) {
  const size_t sources = 1 + input.Byte() % 3;
  const std::string name = "n" + std::to_string(input.Byte());
  const std::string_view said = input.Rest();
  const absl::StatusOr<std::vector<Fact>> facts = ParseFacts(said, sources);
  if (facts.ok()) {
    FUZZ_CHECK(facts->size() <= kMaxFacts);
    for (const Fact& fact : *facts) {
      FUZZ_CHECK(fact.file < sources && fact.line > 0 && fact.column > 0);
      FUZZ_CHECK(!fact.name.empty() && IsValidUtf8(fact.name));
      FUZZ_CHECK(said.find(fact.name) != std::string_view::npos);
    }
  }
  const std::vector<std::string_view> texts(sources, said);
  const Findings found = ApplyRules(AllRules(name), "python", texts, facts);
  FUZZ_CHECK(found.list.size() <= kMaxFindings);
  for (const Finding& finding : found.list) {
    FUZZ_CHECK(finding.file < sources);
    FUZZ_CHECK(finding.severity <= found.severest);
    FUZZ_CHECK(IsValidUtf8(finding.message) && IsValidUtf8(finding.subject));
  }
  // What could not be read never passes for what has nothing in it.
  if (!facts.ok()) FUZZ_CHECK(found.severest == Severity::kDeny);
}

}  // namespace
}  // namespace sandglass::policy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::policy::Run({data, size});
  return 0;
}
