#ifndef SANDGLASS_POLICY_RULES_FACTS_H_
#define SANDGLASS_POLICY_RULES_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sandglass::policy {

// What a language's analyser tells of a program's text before it runs. An
// analyser knows no rules; static_rules.h matches them against these.
enum class FactKind {
  kImport,         // a module whose name is known from the text
  kImportUnknown,  // one whose name isn't; `name` is what imports it
  kUse,            // a function or other name, called or mentioned
  kOpenWrite,      // a file is opened for writing; `detail` is the mode
  kEndlessLoop,    // `name` is the loop as text
  kSyntaxError,    // not a program; `name` is what the parser said
};

struct Fact {
  FactKind kind;
  uint32_t file;    // which of the sources, from 0
  uint32_t line;    // from 1
  uint32_t column;  // from 1, in bytes of UTF-8
  uint32_t count;   // how often it is there; the place is the first
  std::string name;
  std::string detail;

  friend bool operator==(const Fact&, const Fact&) = default;
};

// Bounds of what an analyser may say; one with more to tell says so instead.
inline constexpr size_t kMostFacts = 4096;
inline constexpr size_t kMostFactsBytes = size_t{256} << 10;
inline constexpr size_t kMostFactNameBytes = 200;

// Reads an analyser's output: docs/policy.md has its format. It comes from a
// jail, so whatever isn't just as it should be is INVALID_ARGUMENT; so is an
// end before its time. RESOURCE_EXHAUSTED: the program has more than may be
// told.
absl::StatusOr<std::vector<Fact>> ParseFacts(std::string_view text,
                                             size_t source_count);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_RULES_FACTS_H_
