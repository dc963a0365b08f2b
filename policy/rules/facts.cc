#include "policy/rules/facts.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "policy/text/utf8.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr absl::string_view kHeader = "sandglass-facts 1";
constexpr absl::string_view kEnd = "end";
constexpr absl::string_view kOverflow = "overflow";
constexpr size_t kFields = 7;
constexpr uint32_t kMaxLines = 1 << 24;

constexpr std::pair<absl::string_view, FactKind> kKinds[] = {
    {"import", FactKind::kImport},
    {"import-unknown", FactKind::kImportUnknown},
    {"use", FactKind::kUse},
    {"open-write", FactKind::kOpenWrite},
    {"endless-loop", FactKind::kEndlessLoop},
    {"syntax-error", FactKind::kSyntaxError},
};

bool IsText(absl::string_view text) {
  return text.size() <= kMaxFactNameBytes && IsValidUtf8(StdView(text)) &&
         std::none_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
         });
}

bool Number(absl::string_view text, uint32_t min, uint32_t max,
            uint32_t& number) {
  // No sign and no white space, which SimpleAtoi would accept.
  return !text.empty() && text.front() >= '0' && text.front() <= '9' &&
         text.back() >= '0' && text.back() <= '9' &&
         absl::SimpleAtoi(text, &number) && number >= min && number <= max;
}

std::optional<Fact> ParseFact(absl::string_view line, size_t source_count) {
  const std::vector<absl::string_view> fields = absl::StrSplit(line, '\t');
  if (fields.size() != kFields) return std::nullopt;
  const auto* kind =
      std::find_if(std::begin(kKinds), std::end(kKinds),
                   [&](const auto& known) { return known.first == fields[0]; });
  Fact fact = {};
  if (kind == std::end(kKinds) || source_count == 0 ||
      !Number(fields[1], 0, static_cast<uint32_t>(source_count - 1),
              fact.file) ||
      !Number(fields[2], 1, kMaxLines, fact.line) ||
      !Number(fields[3], 1, kMaxLines, fact.column) ||
      !Number(fields[4], 1, kMaxLines, fact.count) || fields[5].empty() ||
      !IsText(fields[5]) || !IsText(fields[6])) {
    return std::nullopt;
  }
  fact.kind = kind->second;
  fact.name = std::string(fields[5]);
  fact.detail = std::string(fields[6]);
  return fact;
}

}  // namespace

absl::StatusOr<std::vector<Fact>> ParseFacts(std::string_view text,
                                             size_t source_count) {
  const absl::string_view all(text.data(), text.size());
  if (all.size() > kMaxFactsBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the analyser said ", all.size(),
                     " bytes; it may say at most ", kMaxFactsBytes));
  }
  if (all.empty() || all.back() != '\n') {
    return absl::InvalidArgumentError("the analyser ended before its time");
  }
  std::vector<absl::string_view> lines =
      absl::StrSplit(all.substr(0, all.size() - 1), '\n');
  if (lines.front() != kHeader) {
    return absl::InvalidArgumentError("the analyser said something else");
  }
  if (lines.size() == 1 ||
      (lines.back() != kEnd && lines.back() != kOverflow)) {
    return absl::InvalidArgumentError("the analyser ended before its time");
  }
  if (lines.back() == kOverflow || lines.size() - 2 > kMaxFacts) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the program uses more than ", kMaxFacts,
                     " different names, or they are longer than can be told"));
  }
  std::vector<Fact> facts;
  facts.reserve(lines.size() - 2);
  for (size_t i = 1; i + 1 < lines.size(); ++i) {
    std::optional<Fact> fact = ParseFact(lines[i], source_count);
    if (!fact) {
      return absl::InvalidArgumentError(
          absl::StrCat("the analyser's line ", i + 1, " is no fact"));
    }
    facts.push_back(*std::move(fact));
  }
  return facts;
}

}  // namespace sandglass::policy
