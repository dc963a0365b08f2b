#include "gateway/connect/json_paths.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "policy/text/json_reader.h"
#include "policy/text/quoted.h"
#include "policy/text/views.h"
#include "server/base/strings.h"

namespace sandglass::gateway {
namespace {

using policy::AbslView;

constexpr size_t kLongestName = 64;    // bytes of a name in a path
constexpr size_t kLongestWords = 200;  // bytes of the parser's complaint

bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  c == '_';
         });
}

}  // namespace

std::string MemberPath(const std::string& path, std::string_view name) {
  if (!IsPlainName(name)) return KeyPath(path, name);
  return absl::StrCat(path, path.empty() ? "" : ".", AbslView(name));
}

std::string KeyPath(const std::string& path, std::string_view key) {
  return absl::StrCat(path, "[", policy::Quoted(key, kLongestName), "]");
}

std::string ElementPath(const std::string& path, size_t index) {
  return absl::StrCat(path, "[", index, "]");
}

std::string UnknownMember(std::string_view name,
                          const google::protobuf::Descriptor& type) {
  std::vector<std::string> known;
  known.reserve(type.field_count());
  for (int i = 0; i < type.field_count(); ++i) {
    known.push_back(type.field(i)->json_name());
  }
  const std::string nearest =
      policy::NearestWord(name.substr(0, kLongestName), known);
  return absl::StrCat(
      "is no field of ", type.name(),
      nearest.empty() ? "" : absl::StrCat("; did you mean \"", nearest, "\"?"));
}

std::string SyntaxWords(std::string_view what) {
  // Removes the library's "[json.exception.parse_error.101] ".
  if (const size_t end = what.find("] "); end != std::string_view::npos) {
    what.remove_prefix(end + 2);
  }
  return server::Shorten(
      absl::StrReplaceAll(
          absl::CHexEscape(AbslView(what.substr(0, 2 * kLongestWords))),
          {{"\\'", "'"}, {"\\\"", "\""}}),
      kLongestWords);
}

}  // namespace sandglass::gateway
