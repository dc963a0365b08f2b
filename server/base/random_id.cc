#include "server/base/random_id.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "sandbox/os/random.h"
#include "server/base/strings.h"

namespace sandglass::server {

std::string RandomId(absl::string_view prefix, size_t bytes) {
  std::string random(bytes, '\0');
  while (!os::FillRandom(random.data(), random.size())) {
  }
  return absl::StrCat(prefix, absl::BytesToHexString(random));
}

namespace {

constexpr size_t kMaxNodeName = 32;
constexpr size_t kIdBytes = 8;

// Set before there are other threads.
std::string& NodeName() {
  static auto* const name = new std::string();
  return *name;
}

}  // namespace

bool IsNodeName(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxNodeName && text[0] != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
         });
}

void SetNodeName(const std::string& name) { NodeName() = name; }

std::string NodeId(absl::string_view kind) {
  const std::string& node = NodeName();
  return RandomId(
      node.empty() ? std::string(kind) : absl::StrCat(kind, node, "-"),
      kIdBytes);
}

std::optional<std::string> NodeOfId(absl::string_view id) {
  const size_t first = id.find('-');
  const size_t last = id.rfind('-');
  if (first == absl::string_view::npos || last == first ||
      id.size() - last - 1 != 2 * kIdBytes ||
      !IsLowerHex(std::string(id.substr(last + 1)))) {
    return std::nullopt;
  }
  const absl::string_view node = id.substr(first + 1, last - first - 1);
  return IsNodeName(node) ? std::optional<std::string>(node) : std::nullopt;
}

}  // namespace sandglass::server
