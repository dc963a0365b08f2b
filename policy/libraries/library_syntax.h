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

// What the parsers of libraries' names and versions share. Only for librar*.cc.
// By then texts are printable ASCII (see CheckLibraryText).

// Reads a text from front to back.
class TextCursor {
 public:
  explicit TextCursor(absl::string_view text) : rest_(text) {}
  bool empty() const { return rest_.empty(); }
  absl::string_view rest() const { return rest_; }
  char peek() const { return rest_.empty() ? '\0' : rest_[0]; }
  // If `token` comes next, skips it and returns true.
  bool Consume(absl::string_view token);
  bool ConsumeAnyOf(absl::string_view chars);
  // Reads the longest run of digits; of letters, digits and `marks`.
  absl::string_view Digits();
  absl::string_view Word(absl::string_view marks);
  void Blanks();

 private:
  absl::string_view ConsumeFront(size_t size);
  absl::string_view rest_;
};

bool IsAlnum(char c);
// Whether `text` isn't empty and consists of letters, digits and `marks`.
bool IsWordOf(absl::string_view text, absl::string_view marks);
// MAJOR.MINOR.PATCH as defined by semver.org, with or without a pre-release and
// build; numbers have at most 18 digits and no leading zeros.
bool IsSemver(absl::string_view text);
// Whether `text` ends in a way that makes a tool look for a file of this name.
bool HasEnding(absl::string_view text,
               std::initializer_list<absl::string_view> endings);

// INVALID_ARGUMENT; the message is `text` in quotes and then `words`.
absl::Status RefuseLibrary(absl::string_view text, absl::string_view words);

// Refuses what isn't a requirement of any tool: texts that are empty, too long,
// not printable ASCII, an option, an address, a repository, a path, or text for
// a shell.
absl::Status CheckLibraryText(Ecosystem ecosystem, absl::string_view text);
// An example of how to write one, for messages: "six==1.16.0".
absl::string_view ExampleOf(Ecosystem ecosystem);

// These parse a text that has passed CheckLibraryText.
absl::StatusOr<Library> ParsePython(absl::string_view text);
absl::StatusOr<Library> ParseNode(absl::string_view text);
absl::StatusOr<Library> ParseGo(absl::string_view text);
absl::StatusOr<Library> ParseRuby(absl::string_view text);
absl::StatusOr<Library> ParseJava(absl::string_view text);

// These return a name in normal form; nullopt: it isn't one.
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
