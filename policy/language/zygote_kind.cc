#include "policy/language/zygote_kind.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sandglass::policy {
namespace {

constexpr std::string_view kSpace = " \t\r";

bool IsIdentifierByte(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Those of the `wanted` words that occur on import lines. Other words aren't
// kept, because a program's text may consist of nothing but words.
std::set<std::string_view> ImportedWords(
    std::string_view code, const std::set<std::string_view>& wanted) {
  std::set<std::string_view> words;
  while (!code.empty()) {
    std::string_view line = code.substr(0, code.find('\n'));
    code.remove_prefix(std::min(code.size(), line.size() + 1));
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(kSpace)));
    bool first = true;
    while (!line.empty()) {
      const auto end =
          std::find_if_not(line.begin(), line.end(), IsIdentifierByte);
      const std::string_view word =
          line.substr(0, static_cast<size_t>(end - line.begin()));
      if (first && word != "import" && word != "from" && word != "require") {
        break;
      }
      if (!first && wanted.count(word) > 0) words.insert(word);
      first = false;
      line.remove_prefix(std::min(line.size(), word.size() + 1));
    }
  }
  return words;
}

}  // namespace

std::string ZygoteName(const Language& language, const ZygoteKind& kind) {
  return absl::StrCat(language.id, "-", kind.name,
                      language.image.empty() ? "" : "-", language.image);
}

const ZygoteKind* ChooseZygoteKind(const Language& language,
                                   std::string_view code) {
  if (!language.zygote) return nullptr;
  std::set<std::string_view> wanted;
  for (const ZygoteKind& kind : language.zygote->kinds) {
    wanted.insert(kind.serves.begin(), kind.serves.end());
  }
  const std::set<std::string_view> imported = ImportedWords(code, wanted);
  const ZygoteKind* best = nullptr;
  size_t max = 0;
  for (const ZygoteKind& kind : language.zygote->kinds) {
    const auto named = static_cast<size_t>(std::count_if(
        kind.serves.begin(), kind.serves.end(),
        [&](const std::string& module) { return imported.count(module) > 0; }));
    const bool general = kind.serves.empty();
    if (named > max || (general && best == nullptr)) {
      best = &kind;
      max = named;
    }
  }
  return best;
}

}  // namespace sandglass::policy
