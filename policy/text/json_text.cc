// Words and sizes in the form in which people type them.

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "policy/text/json_reader.h"

namespace sandglass::policy {
namespace {

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string NearestWord(std::string_view word,
                        const std::vector<std::string>& candidates) {
  // If more than about a third of the letters is wrong, it isn't a typing
  // error. The test of the length also bounds the work for absurd keys.
  const size_t allowed = std::min<size_t>(3, word.size() / 3 + 1);
  std::string nearest;
  size_t best = allowed + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > word.size() + allowed ||
        word.size() > candidate.size() + allowed) {
      continue;
    }
    const size_t distance = EditDistance(word, candidate);
    if (distance < best && distance < candidate.size()) {
      best = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

absl::StatusOr<uint64_t> ParseByteSize(std::string_view text) {
  const absl::string_view given(text.data(), text.size());
  const auto refuse = [&given](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected a size such as 1048576, \"64M\" or \"256MiB\", got \"",
        absl::Utf8SafeCEscape(given.substr(0, 60)), "\"", why));
  };
  const size_t digits =
      std::min(given.find_first_not_of("0123456789"), given.size());
  uint64_t number = 0;
  if (digits == 0) return refuse("");
  if (!absl::SimpleAtoi(given.substr(0, digits), &number)) {
    return refuse(" (more than 64 bits)");
  }
  const std::string unit = absl::AsciiStrToLower(given.substr(digits));
  if (unit.empty() || unit == "b") return number;
  constexpr std::string_view kUnits = "kmgt";
  const size_t power = kUnits.find(unit[0]);
  if (power == std::string_view::npos ||
      (unit.size() > 1 && unit.substr(1) != "ib")) {
    return refuse(unit.size() == 2 && unit[1] == 'b' &&
                          power != std::string_view::npos
                      ? " (units of 1000 are ambiguous; write KiB, MiB or GiB)"
                      : "");
  }
  const unsigned shift = 10 * (static_cast<unsigned>(power) + 1);
  if (number > (~uint64_t{0} >> shift)) return refuse(" (more than 64 bits)");
  return number << shift;
}

}  // namespace sandglass::policy
