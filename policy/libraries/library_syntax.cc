#include "policy/libraries/library_syntax.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "policy/text/quoted.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

constexpr size_t kMaxDigits = 18;

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(), IsDigit) &&
         (text.size() == 1 || text[0] != '0');
}

// Checks the identifiers of a pre-release or build, which are separated by
// dots.
bool IsTail(absl::string_view text, bool numbers_without_zeros) {
  for (const absl::string_view part : absl::StrSplit(text, '.')) {
    if (!IsWordOf(part, "-")) return false;
    const bool digits = std::all_of(part.begin(), part.end(), IsDigit);
    if (digits && numbers_without_zeros && part.size() > 1 && part[0] == '0') {
      return false;
    }
  }
  return true;
}

// Recognises "C:\x" and "c:/x".
bool HasDrive(absl::string_view text) {
  return text.size() >= 3 && absl::ascii_isalpha(text[0]) && text[1] == ':' &&
         (text[2] == '\\' || text[2] == '/');
}

bool IsRepository(absl::string_view text) {
  for (const absl::string_view tool : {"git+", "hg+", "svn+", "bzr+", "git@"}) {
    if (absl::StartsWithIgnoreCase(text, tool)) return true;
  }
  for (const absl::string_view host :
       {"github:", "gitlab:", "bitbucket:", "gist:", "git:", "ssh:"}) {
    if (absl::StartsWithIgnoreCase(text, host)) return true;
  }
  return false;
}

bool IsPath(absl::string_view text) {
  return text[0] == '.' || text[0] == '/' || text[0] == '~' || HasDrive(text) ||
         absl::StrContains(text, '\\') || absl::StrContains(text, "/../") ||
         absl::StrContains(text, "/./");
}

std::string Instead(Ecosystem ecosystem) {
  return absl::StrCat("write a name from the public registry, as in ",
                      Quoted(std::string(ExampleOf(ecosystem))));
}

}  // namespace

absl::string_view TextCursor::ConsumeFront(size_t size) {
  const absl::string_view front = rest_.substr(0, size);
  rest_.remove_prefix(front.size());
  return front;
}

bool TextCursor::Consume(absl::string_view token) {
  if (!absl::StartsWith(rest_, token)) return false;
  rest_.remove_prefix(token.size());
  return true;
}

bool TextCursor::ConsumeAnyOf(absl::string_view chars) {
  if (rest_.empty() || !absl::StrContains(chars, rest_[0])) return false;
  rest_.remove_prefix(1);
  return true;
}

absl::string_view TextCursor::Digits() {
  size_t size = 0;
  while (size < rest_.size() && IsDigit(rest_[size])) ++size;
  return ConsumeFront(size);
}

absl::string_view TextCursor::Word(absl::string_view marks) {
  size_t size = 0;
  while (size < rest_.size() &&
         (IsAlnum(rest_[size]) || absl::StrContains(marks, rest_[size]))) {
    ++size;
  }
  return ConsumeFront(size);
}

void TextCursor::Blanks() {
  while (Consume(" ")) {
  }
}

bool IsAlnum(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c));
}

bool IsWordOf(absl::string_view text, absl::string_view marks) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [marks](char c) {
           return IsAlnum(c) || absl::StrContains(marks, c);
         });
}

bool IsSemver(absl::string_view text) {
  const size_t plus = text.find('+');
  if (plus != absl::string_view::npos &&
      !IsTail(text.substr(plus + 1), false)) {
    return false;
  }
  text = text.substr(0, plus);
  const size_t dash = text.find('-');
  if (dash != absl::string_view::npos && !IsTail(text.substr(dash + 1), true)) {
    return false;
  }
  const std::vector<absl::string_view> parts =
      absl::StrSplit(text.substr(0, dash), '.');
  return parts.size() == 3 && std::all_of(parts.begin(), parts.end(), IsNumber);
}

bool HasEnding(absl::string_view text,
               std::initializer_list<absl::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [text](absl::string_view ending) {
                       return absl::EndsWithIgnoreCase(text, ending);
                     });
}

absl::Status RefuseLibrary(absl::string_view text, absl::string_view words) {
  return absl::InvalidArgumentError(
      absl::StrCat(Quoted(StdView(text)), " ", words));
}

absl::string_view ExampleOf(Ecosystem ecosystem) {
  switch (ecosystem) {
    case Ecosystem::kPython:
      return "six==1.16.0";
    case Ecosystem::kNode:
      return "lodash@^4.17.0";
    case Ecosystem::kGo:
      return "golang.org/x/text@v0.3.7";
    case Ecosystem::kRuby:
      return "rack:~> 2.2";
    case Ecosystem::kJava:
      return "com.google.code.gson:gson:2.8.9";
  }
  return "";
}

absl::Status CheckLibraryText(Ecosystem ecosystem, absl::string_view text) {
  const std::string instead = Instead(ecosystem);
  if (text.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a library's name is empty; ", instead));
  }
  if (text.size() > kMaxLibraryText) {
    return RefuseLibrary(
        text, absl::StrCat("has ", text.size(), " bytes; a library may have ",
                           kMaxLibraryText));
  }
  for (const char c : text) {
    if (c >= 0x20 && c <= 0x7e) continue;
    const auto byte = static_cast<unsigned char>(c);
    return RefuseLibrary(
        text, byte >= 0x80 ? "has a character that isn't ASCII, and names of "
                             "libraries have none; type the name anew"
                           : "has a control character; leave it out");
  }
  if (text.front() == ' ' || text.back() == ' ') {
    return RefuseLibrary(text, "has a blank at an end; leave it out");
  }
  if (text[0] == '-') {
    return RefuseLibrary(text, absl::StrCat("is an option; ", instead));
  }
  if (absl::StrContains(text, "://") ||
      absl::StartsWithIgnoreCase(text, "file:")) {
    return RefuseLibrary(text, absl::StrCat("is an address; ", instead));
  }
  if (IsRepository(text)) {
    return RefuseLibrary(text, absl::StrCat("is a repository; ", instead));
  }
  if (IsPath(text)) {
    return RefuseLibrary(text, absl::StrCat("is a path; ", instead));
  }
  const size_t bad = text.find_first_of("$`\"'&;{}#?%()");
  if (bad != absl::string_view::npos && text[bad] == ';') {
    return RefuseLibrary(text,
                         "has \";\": conditions for an environment aren't "
                         "taken; leave it and what follows out");
  }
  if (bad != absl::string_view::npos) {
    return RefuseLibrary(
        text,
        absl::StrCat("has \"", text.substr(bad, 1) == "\"" ? "\\" : "",
                     text.substr(bad, 1),
                     "\", which no library's name or version has; ", instead));
  }
  return absl::OkStatus();
}

}  // namespace sandglass::policy
