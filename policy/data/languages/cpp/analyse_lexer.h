#ifndef SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_LEXER_H_
#define SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_LEXER_H_

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

enum class Kind { kName, kNumber, kString, kChar, kOther };

struct Token {
  Kind kind = Kind::kOther;
  std::string_view text;  // for a string, what is between its quotes
  size_t place = 0;       // in the file

  bool Is(std::string_view other) const {
    return kind != Kind::kString && kind != Kind::kChar && text == other;
  }
};

// A mistake in the program that no compiler would accept.
struct SyntaxError : std::runtime_error {
  SyntaxError(const std::string& what, size_t where)
      : std::runtime_error(what), place(where) {}
  size_t place;
};

// Cuts a text into tokens, which are views into it: it has to outlive them.
class Lexer {
 public:
  explicit Lexer(std::string_view source) { Splice(source); }

  // Reads the next token; false at the end. Sets `line_start` if a line began
  // before the token. Throws SyntaxError.
  bool Next(Token& token, bool& line_start) {
    SkipSpace(line_start);
    if (at_ >= text_.size()) return false;
    const size_t begin = at_;
    token.place = PlaceOf(begin);
    token.kind = Kind::kOther;
    if (text_[at_] == '"') {
      Quoted(token);
    } else if (text_[at_] == '\'') {
      Quoted(token);
    } else if (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0) {
      token.kind = Kind::kNumber;
      while (InName(At(at_)) || At(at_) == '.' ||
             (At(at_) == '\'' && InName(At(at_ + 1))) ||
             ((At(at_) == '+' || At(at_) == '-') &&
              std::string_view("eEpP").find(At(at_ - 1)) !=
                  std::string_view::npos &&
              text_.compare(begin, 2, "0x") != 0)) {
        ++at_;
      }
      token.text = std::string_view(text_).substr(begin, at_ - begin);
    } else if (InName(text_[at_])) {
      while (InName(At(at_))) ++at_;
      token.kind = Kind::kName;
      token.text = std::string_view(text_).substr(begin, at_ - begin);
      if (token.text == "not") {
        token.kind = Kind::kOther;
        token.text = "!";
      } else if (At(at_) == '"' || At(at_) == '\'') {
        Prefixed(token);
      }
    } else {
      Sign(token);
    }
    return true;
  }

  // Skips spaces and comments; sets `line_start` after the end of a line.
  void SkipSpace(bool& line_start) {
    while (at_ < text_.size()) {
      if (Has("//")) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (Has("/*")) {
        const size_t end = text_.find("*/", at_ + 2);
        if (end == std::string::npos) {
          throw SyntaxError("unterminated comment", PlaceOf(at_));
        }
        at_ = end + 2;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        if (text_[at_++] == '\n') line_start = true;
      } else {
        return;
      }
    }
  }

  const std::string& text() const { return text_; }
  size_t at() const { return at_; }
  void MoveTo(size_t at) { at_ = at; }
  // The name that begins at `begin`, or "".
  std::string_view NameAt(size_t begin) const {
    size_t end = begin;
    while (InName(At(end))) ++end;
    return std::string_view(text_).substr(begin, end - begin);
  }
  char At(size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  // The place in the file of what is at this offset in `text_`.
  size_t PlaceOf(size_t offset) const {
    auto after = std::upper_bound(
        splices_.begin(), splices_.end(), offset,
        [](size_t at, const auto& splice) { return at < splice.first; });
    return after == splices_.begin() ? offset
                                     : offset + std::prev(after)->second;
  }

 private:
  // Joins lines that end in a backslash with the next line.
  void Splice(std::string_view source) {
    text_.reserve(source.size());
    for (size_t i = 0; i < source.size(); ++i) {
      if (source[i] == '\\') {
        size_t end = source.find_first_not_of(" \t\r\f\v", i + 1);
        if (end != std::string_view::npos && source[end] == '\n') {
          i = end;
          splices_.emplace_back(text_.size(), i + 1 - text_.size());
          continue;
        }
      }
      text_ += source[i];
    }
  }

  bool Has(std::string_view what) const {
    return text_.compare(at_, what.size(), what) == 0;
  }
  static bool InName(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           c == '$' || (static_cast<unsigned char>(c) & 0x80U) != 0;
  }

  void Sign(Token& token) {
    static constexpr std::pair<std::string_view, std::string_view> kSigns[] = {
        {"%:", "#"},  {"<%", "{"},  {"%>", "}"},  {":>", "]"},
        {"::", "::"}, {"->", "->"}, {"&&", "&&"},
    };
    // "<::" means "<" and "::", unless it is "<::>" or "<:::".
    if (Has("<:") && (!Has("<::") || Has("<:::") || Has("<::>"))) {
      token.text = "[";
      at_ += 2;
      return;
    }
    for (const auto& [written, meant] : kSigns) {
      if (!Has(written)) continue;
      token.text = meant;
      at_ += written.size();
      return;
    }
    token.text = std::string_view(text_).substr(at_++, 1);
  }

  // Reads a literal. It ends with its line at the latest, because text that
  // isn't compiled may contain a lone quote.
  void Quoted(Token& token) {
    const char quote = text_[at_];
    token.kind = quote == '"' ? Kind::kString : Kind::kChar;
    const size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      at_ += text_[at_] == '\\' && At(at_ + 1) != '\n' ? 2 : 1;
    }
    at_ = std::min(at_, text_.size());
    token.text = std::string_view(text_).substr(begin, at_ - begin);
    if (At(at_) == quote) ++at_;
  }

  // A name in front of a quote is part of the literal, or a macro.
  void Prefixed(Token& token) {
    const std::string_view name = token.text;
    const bool raw = name == "R" || name == "LR" || name == "uR" ||
                     name == "UR" || name == "u8R";
    if (raw && text_[at_] == '"') {
      const size_t open = text_.find('(', at_);
      const std::string_view delimiter =
          std::string_view(text_).substr(at_ + 1, open - at_ - 1);
      if (open != std::string::npos && delimiter.size() <= 16) {
        const std::string closing = ")" + std::string(delimiter) + "\"";
        const size_t end = text_.find(closing, open);
        if (end == std::string::npos) {
          throw SyntaxError("unterminated raw string", token.place);
        }
        token.kind = Kind::kString;
        token.text = std::string_view(text_).substr(open + 1, end - open - 1);
        at_ = end + closing.size();
        return;
      }
    }
    if (name == "L" || name == "u" || name == "U" || name == "u8") {
      Quoted(token);
    }
  }

  std::string text_;
  std::vector<std::pair<size_t, size_t>> splices_;  // offset, what it is off by
  size_t at_ = 0;
};

#endif  // SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_LEXER_H_
