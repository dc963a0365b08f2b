// A library of a request and a pattern of a profile. What is taken has one
// form, and no tool can read it as an option, a file or an address. A byte for
// the ecosystem, the library with a length before it, then the pattern.
#include <algorithm>

#include "policy/libraries/library_policy.h"
#include "policy/libraries/missing_import.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::policy {
namespace {

bool Has(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

void CheckArgument(const std::string& argument) {
  FUZZ_CHECK(!argument.empty());
  FUZZ_CHECK(std::all_of(argument.begin(), argument.end(),
                         [](char c) { return c >= 0x20 && c <= 0x7e; }));
  for (const char* part : {"://", "..", "\\", "$", "`", "'", "\"", ";", "&",
                           " -", "/-", "@file:"}) {
    // A range of npm has a dash between blanks.
    if (std::string(part) == " -" && Has(argument, " - ")) continue;
    FUZZ_CHECK(!Has(argument, part));
  }
  FUZZ_CHECK(argument.rfind("git+", 0) != 0);
  FUZZ_CHECK(std::string("-./~@ ").find(argument[0]) == std::string::npos ||
             (argument[0] == '@' && Has(argument, "/")));
}

void CheckLibrary(const Library& library) {
  CheckArgument(library.ToArgument());
  FUZZ_CHECK(library.name.size() <= kMaxLibraryName);
  const auto again = ParseLibrary(library.ecosystem, library.ToArgument());
  FUZZ_CHECK(again.ok() && *again == library);
  const auto name = ParseLibraryName(library.ecosystem, library.name);
  FUZZ_CHECK(name.ok() && *name == library.name);
}

void CheckPolicy(const Library& library, const std::string& text) {
  auto pattern = LibraryPattern::Parse(library.ecosystem, text);
  if (!pattern.ok()) return;
  const auto set = LibrarySet::Make(library.ecosystem, {library});
  FUZZ_CHECK(set.ok());
  LibraryPolicy policy;
  policy.profile = "fuzz";
  LibraryRules& rules = policy.rules[library.ecosystem];
  rules.any = false;
  rules.allow = {*pattern};
  const LibraryDecision decision = Decide(policy, *set);
  FUZZ_CHECK(decision.allowed == decision.libraries.has_value());
  FUZZ_CHECK(decision.allowed == decision.reason.empty());
  FUZZ_CHECK(!decision.allowed || pattern->Matches(library));
  if (decision.allowed) CheckLibrary(decision.libraries->libraries()[0]);
  rules.any = true;
  rules.deny = {*pattern};
  FUZZ_CHECK(Decide(policy, *set).allowed != pattern->Matches(library));
}

void Run(fuzz::Input input) {
  const Ecosystem ecosystem =
      kEcosystems[input.Byte() % std::size(kEcosystems)];
  const std::string text = input.Text();
  const std::string rest(input.Rest());
  if (const auto missing = FindMissingImport(ecosystem, rest)) {
    FUZZ_CHECK(missing->library.empty() ||
               ParseLibraryName(ecosystem, missing->library).ok());
    FUZZ_CHECK(!MissingImportWords(ecosystem, *missing).empty());
  }
  const auto library = ParseLibrary(ecosystem, text);
  if (!library.ok()) {
    FUZZ_CHECK(absl::IsInvalidArgument(library.status()));
    return;
  }
  CheckLibrary(*library);
  CheckPolicy(*library, rest);
}

}  // namespace
}  // namespace sandglass::policy

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::policy::Run({data, size});
  return 0;
}
