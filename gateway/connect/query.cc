#include "gateway/connect/query.h"

#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "gateway/connect/connect_errors.h"
#include "policy/text/quoted.h"
#include "policy/text/views.h"

namespace sandglass::gateway {
namespace {

using policy::AbslView;
using policy::Quoted;
using policy::StdView;

bool IsHex(char c) {
  return absl::ascii_isxdigit(static_cast<unsigned char>(c));
}

std::optional<std::string> Decoded(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    size_t taken = 1;
    if (text[0] == '%') {
      taken = 3;
      if (text.size() < taken || !IsHex(text[1]) || !IsHex(text[2])) {
        return std::nullopt;
      }
      plain += absl::HexStringToBytes(AbslView(text.substr(1, 2)));
    } else {
      plain.push_back(text[0] == '+' ? ' ' : text[0]);
    }
    text.remove_prefix(taken);
  }
  return plain;
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ReadQuery(
    std::string_view query) {
  std::map<std::string, std::string> parameters;
  for (const absl::string_view part :
       absl::StrSplit(AbslView(query), '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    const std::optional<std::string> name = Decoded(StdView(pair.first));
    std::optional<std::string> value = Decoded(StdView(pair.second));
    if (!name.has_value() || !value.has_value()) {
      return BadQuery(Quoted(StdView(pair.first)),
                      "has a \"%\" without two hexadecimal digits");
    }
    if (!parameters.emplace(*name, *std::move(value)).second) {
      return BadQuery(Quoted(*name), "is given twice");
    }
  }
  return parameters;
}

}  // namespace sandglass::gateway
