#include "policy/libraries/library_marker.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "policy/libraries/library_syntax.h"

namespace sandglass::policy {
namespace {

constexpr int kDeepest = 8;
constexpr int kMaxComparisons = 64;
constexpr size_t kMaxText = 64;  // of a quoted string

constexpr absl::string_view kVariables[] = {"os_name",
                                            "sys_platform",
                                            "platform_machine",
                                            "platform_python_implementation",
                                            "platform_release",
                                            "platform_system",
                                            "platform_version",
                                            "python_version",
                                            "python_full_version",
                                            "implementation_name",
                                            "implementation_version"};

// Reads "a and (b or c)" and writes it anew, a word at a time.
class MarkerReader {
 public:
  explicit MarkerReader(absl::string_view text) : cursor_(text) {}

  absl::StatusOr<std::string> Read() {
    if (Alternatives(0)) {
      cursor_.Blanks();
      if (cursor_.empty()) return out_;
      Fail("has something behind it that isn't \"and\" or \"or\"");
    }
    return absl::InvalidArgumentError(
        absl::StrCat("has a condition that ", wrong_));
  }

 private:
  bool Fail(absl::string_view wrong) {
    if (wrong_.empty()) wrong_ = std::string(wrong);
    return false;
  }

  void Write(absl::string_view word) {
    absl::StrAppend(&out_, out_.empty() ? "" : " ", word);
  }

  bool Alternatives(int depth) { return Joined("or", depth); }

  // "and" has precedence over "or".
  bool Joined(absl::string_view word, int depth) {
    do {
      if (word == "or" ? !Joined("and", depth) : !Operand(depth)) return false;
    } while (ConsumeWord(word));
    return true;
  }

  bool ConsumeWord(absl::string_view word) {
    TextCursor after = cursor_;
    after.Blanks();
    if (after.Word("_") != word) return false;
    cursor_ = after;
    Write(word);
    return true;
  }

  bool Operand(int depth) {
    cursor_.Blanks();
    if (!cursor_.Consume("(")) return Comparison();
    if (depth >= kDeepest) return Fail("has too many ( in each other");
    Write("(");
    if (!Alternatives(depth + 1)) return false;
    cursor_.Blanks();
    if (!cursor_.Consume(")")) return Fail("has \"(\" without its \")\"");
    Write(")");
    return true;
  }

  bool Comparison() {
    if (++comparisons_ > kMaxComparisons) {
      return Fail(
          absl::StrCat("has more than ", kMaxComparisons, " comparisons"));
    }
    bool left = false;
    bool right = false;
    if (!Value(left) || !Operator() || !Value(right)) return false;
    return left || right || Fail("compares two texts");
  }

  // Sets `variable` to whether the value is a variable.
  bool Value(bool& variable) {
    cursor_.Blanks();
    for (const char quote : {'"', '\''}) {
      const absl::string_view mark(&quote, 1);
      if (!cursor_.Consume(mark)) continue;
      const absl::string_view text = cursor_.Word("._-+*! ");
      // pip regards " -" as the start of an option, even in quotes.
      if (text.size() > kMaxText || absl::StrContains(text, " -") ||
          !cursor_.Consume(mark)) {
        return Fail("has a text in quotes that no variable can have");
      }
      Write(absl::StrCat("\"", text, "\""));
      return true;
    }
    const absl::string_view name = cursor_.Word("_");
    variable = std::find(std::begin(kVariables), std::end(kVariables), name) !=
               std::end(kVariables);
    if (!variable) {
      return Fail(absl::StrCat("has \"", name.substr(0, kMaxText),
                               "\" where a variable such as python_version "
                               "belongs, or a text in quotes"));
    }
    Write(name);
    return true;
  }

  bool Operator() {
    if (ConsumeWord("in")) return true;
    if (ConsumeWord("not")) {
      return ConsumeWord("in") || Fail("has \"not\" without \"in\"");
    }
    cursor_.Blanks();
    for (const absl::string_view each : kPythonComparisons) {
      if (!cursor_.Consume(each)) continue;
      Write(each);
      return true;
    }
    return Fail("has no comparison such as == or < after its first word");
  }

  TextCursor cursor_;
  std::string out_;
  std::string wrong_;
  int comparisons_ = 0;
};

}  // namespace

absl::StatusOr<std::string> NormalMarker(absl::string_view text) {
  return MarkerReader(text).Read();
}

}  // namespace sandglass::policy
