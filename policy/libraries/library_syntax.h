#ifndef SANDGLASS_POLICY_LIBRARIES_LIBRARY_SYNTAX_H_
#define SANDGLASS_POLICY_LIBRARIES_LIBRARY_SYNTAX_H_

#include <initializer_list>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "policy/libraries/libraries.h"

namespace sandglass::policy {

// What the parsers of libraries' names and versions share. Only for
// librar*.cc. Texts are printable ASCII by then (see CheckLibraryText).

// Takes a text apart from its front.
class TextCursor {
 public:
  explicit TextCursor(absl::string_view text) : rest_(text) {}
  bool empty() const { return rest_.empty(); }
  absl::string_view rest() const { return rest_; }
  char peek() const { return rest_.empty() ? '\0' : rest_[0]; }
  // True, and past it, when it comes next.
  bool Take(absl::string_view token);
  bool TakeAnyOf(absl::string_view chars);
  // The longest run of digits; of letters, digits and `marks`.
  absl::string_view Digits();
  absl::string_view Word(absl::string_view marks);
  void Blanks();

 private:
  absl::string_view TakeFront(size_t size);
  absl::string_view rest_;
};

bool IsAlnum(char c);
// One that isn't empty, of letters, digits and `marks` alone.
bool IsWordOf(absl::string_view text, absl::string_view marks);
// MAJOR.MINOR.PATCH as semver.org has it, with or without a pre-release and
// build; numbers of at most 18 digits and without zeros before them.
bool IsSemver(absl::string_view text);
// A file that a tool would look for under this name.
bool HasEnding(absl::string_view text,
               std::initializer_list<absl::string_view> endings);

// INVALID_ARGUMENT with `text` in quotes before the words.
absl::Status RefuseLibrary(absl::string_view text, absl::string_view words);

// What no tool's requirement is: empty, long, not printable ASCII, an option,
// an address, a repository, a path, text for a shell.
absl::Status CheckLibraryText(Ecosystem ecosystem, absl::string_view text);
// How one is written, for messages: "six==1.16.0".
absl::string_view ExampleOf(Ecosystem ecosystem);

// Of a text that passed CheckLibraryText.
absl::StatusOr<Library> ParsePython(absl::string_view text);
absl::StatusOr<Library> ParseNode(absl::string_view text);
absl::StatusOr<Library> ParseGo(absl::string_view text);
absl::StatusOr<Library> ParseRuby(absl::string_view text);
absl::StatusOr<Library> ParseJava(absl::string_view text);

// A name in normal form; absent: it is none.
std::optional<std::string> PythonName(absl::string_view text);
std::optional<std::string> NodeName(absl::string_view text);
std::optional<std::string> GoModule(absl::string_view text);
std::optional<std::string> RubyName(absl::string_view text);
std::optional<std::string> JavaName(absl::string_view text);

// What PEP 440 compares versions with. The longest first: "==" is the beginning
// of "===".
inline constexpr absl::string_view kPythonComparisons[] = {
    "===", "==", "~=", "!=", "<=", ">=", "<", ">"};

// "latest", "next-11": no range, by npm's own reading of the word.
bool IsNodeTag(absl::string_view text);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIBRARIES_LIBRARY_SYNTAX_H_
