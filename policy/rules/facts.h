#ifndef SANDGLASS_POLICY_RULES_FACTS_H_
#define SANDGLASS_POLICY_RULES_FACTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace sandglass::policy {

// What a language's analyser reports about a program's text before the program
// runs. An analyser knows no rules; rules.h matches them against these facts.
enum class FactKind {
  kImport,         // a module whose name is known from the text
  kImportUnknown,  // its name isn't known; `name` is what imports it
  kUse,            // a function or other name that is called or mentioned
  kOpenWrite,      // a file is opened for writing; `detail` is the mode
  kEndlessLoop,    // `name` is the loop as text
  kSyntaxError,    // not a program; `name` is the parser's message
};

struct Fact {
  FactKind kind;
  uint32_t file;    // which of the sources, from 0
  uint32_t line;    // counted from 1
  uint32_t column;  // from 1, in bytes of UTF-8
  uint32_t count;   // how often; the place is that of the first
  std::string name;
  std::string detail;

  friend bool operator==(const Fact&, const Fact&) = default;
};

// Bounds of an analyser's output; an analyser with more facts reports that
// instead.
inline constexpr size_t kMaxFacts = 4096;
inline constexpr size_t kMaxFactsBytes = size_t{256} << 10;
inline constexpr size_t kMaxFactNameBytes = 200;

// Reads an analyser's output in the format of docs/policy.md. It comes from a
// jail, so INVALID_ARGUMENT for anything that isn't exactly as it should be,
// including output that ends too early. RESOURCE_EXHAUSTED: the program has
// more facts than an analyser may report.
absl::StatusOr<std::vector<Fact>> ParseFacts(std::string_view text,
                                             size_t source_count);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_RULES_FACTS_H_
