#include "policy/verdict/unseen.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

template <size_t kSize>
bool HasOneOf(absl::string_view text,
              const absl::string_view (&needles)[kSize]) {
  return std::any_of(std::begin(needles), std::end(needles),
                     [text](absl::string_view needle) {
                       return absl::StrContains(text, needle);
                     });
}

// Whether the program shows a figure, or saves one where nothing is fetched
// from.
bool MakesFigure(absl::string_view language, absl::string_view source) {
  constexpr absl::string_view kPlotters[] = {"matplotlib", "pylab", "seaborn",
                                             "plotly", ".plot("};
  constexpr absl::string_view kMakers[] = {".show()", "savefig('/tmp",
                                           "savefig(\"/tmp"};
  return language == "python" && HasOneOf(source, kMakers) &&
         HasOneOf(source, kPlotters);
}

bool IsWordChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Whether the line has a "=" that assigns, outside of brackets and quotes.
bool Assigns(absl::string_view line) {
  int depth = 0;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      continue;
    }
    if (c == '"' || c == '\'') quote = c;
    if (absl::StrContains("([{", line.substr(i, 1))) ++depth;
    if (absl::StrContains(")]}", line.substr(i, 1))) --depth;
    if (c != '=' || depth > 0) continue;
    const bool compares =
        (i > 0 && absl::StrContains("=!<>", line.substr(i - 1, 1))) ||
        (i + 1 < line.size() && absl::StrContains("=>", line.substr(i + 1, 1)));
    if (!compares) return true;
  }
  return false;
}

// Whether the program's last line is an expression that was written for its
// value, as in a notebook: no statement, and no call of a function of its own.
bool EndsInValue(absl::string_view source) {
  constexpr absl::string_view kStatements[] = {
      "assert", "async",  "await", "break", "class",   "const",  "continue",
      "def",    "del",    "elif",  "else",  "end",     "except", "export",
      "for",    "from",   "func",  "if",    "import",  "let",    "function",
      "module", "pass",   "puts",  "raise", "require", "return", "throw",
      "try",    "unless", "until", "var",   "while",   "with",   "yield",
      "global", "finally"};
  source = absl::StripAsciiWhitespace(source);
  absl::string_view line = source.substr(source.rfind('\n') + 1);
  while (absl::EndsWith(line, ";")) line.remove_suffix(1);
  const auto end = std::find_if_not(line.begin(), line.end(), IsWordChar);
  const auto length = static_cast<size_t>(end - line.begin());
  const absl::string_view word = line.substr(0, length);
  if (word.empty() || Assigns(line) ||
      std::find(std::begin(kStatements), std::end(kStatements), word) !=
          std::end(kStatements)) {
    return false;
  }
  const bool calls = length < line.size() && line[length] == '(';
  return !calls;
}

}  // namespace

std::vector<Hint> FindUnseen(const HintFacts& facts) {
  const absl::string_view source = AbslView(facts.source);
  const absl::string_view language = AbslView(facts.language);
  std::vector<Hint> hints;
  if (!facts.fetches && MakesFigure(language, source)) {
    hints.push_back(
        {"figure-unseen",
         "Nobody sees the figure that the program makes: run it with rich "
         "results (--rich) or in a session, or have it save the figure below "
         "/workspace and fetch that (--fetch)."});
  }
  if (facts.files_lost > 0) {
    hints.push_back(
        {"files-lost",
         absl::StrCat("What the program left in /workspace (", facts.files_lost,
                      facts.files_lost == 1 ? " file or directory"
                                            : " files and directories",
                      ") ends with the run: name what is to be brought back "
                      "(--fetch), or use a session.")});
  }
  constexpr absl::string_view kWithValues[] = {"python", "javascript", "ruby"};
  if (hints.empty() && facts.stdout_tail.empty() && facts.stderr_tail.empty() &&
      std::find(std::begin(kWithValues), std::end(kWithValues), language) !=
          std::end(kWithValues) &&
      EndsInValue(source)) {
    hints.push_back(
        {"value-unseen",
         "The program printed nothing. The value of its last line is seen only "
         "with rich results (--rich) or in a session; otherwise print it."});
  }
  return hints;
}

bool AsksInVain(const HintFacts& facts) {
  return facts.language == "javascript" &&
         facts.source.find(".question(") != std::string_view::npos;
}

}  // namespace sandglass::policy
