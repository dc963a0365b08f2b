#ifndef SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_OPENS_H_
#define SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_OPENS_H_

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "analyse_facts.h"
#include "analyse_lexer.h"

// Whether `words` contains the word. `words` has a space before and after each.
inline bool IsIn(std::string_view word, const char* words) {
  const std::string spaced = " " + std::string(word) + " ";
  return std::strstr(words, spaced.c_str()) != nullptr;
}

// Examines the arguments of calls, and finds those that open files for writing.
class Opens {
 public:
  Opens(const std::vector<Token>& tokens, Facts& facts)
      : tokens_(tokens), facts_(facts) {}

  // Reports the call of `name` at the token `i` if it opens a file for writing;
  // its parentheses or the declared name are at `end`.
  void Opened(size_t i, const std::string& name, size_t end) {
    if (IsIn(name,
             " ofstream basic_ofstream wofstream creat creat64 mkstemp "
             "tmpfile mkostemp ")) {
      facts_.Tell("open-write", At(i).place, name);
    } else if (IsIn(name, " fstream wfstream ")) {
      const size_t open = At(end).kind == Kind::kName ? end + 1 : end;
      if (At(open).Is("(") || At(open).Is("{")) Stream(i, name, open, true);
    } else if (!At(end).Is("(")) {
      return;
    } else if (IsIn(name, " fopen fopen64 freopen freopen64 ")) {
      std::string mode;
      if (!Text(Argument(end, 1), mode)) {
        facts_.Tell("open-write", At(i).place, name, "mode unknown");
      } else if (mode.find_first_of("wa+") != std::string::npos) {
        facts_.Tell("open-write", At(i).place, name, mode);
      }
    } else if (IsIn(name, " open open64 ")) {
      Flags(i, name, Argument(end, 1));
    } else if (IsIn(name, " openat openat64 ")) {
      Flags(i, name, Argument(end, 2));
    }
  }

  // Handles dlsym(library, "name").
  void Looked(size_t open) {
    std::string name;
    const Range range = Argument(open, 1);
    if (Text(range, name)) facts_.Tell("use", At(range.begin).place, name);
  }

  // Handles std::fstream f(path, std::ios::out), and also f.open().
  void Stream(size_t i, const std::string& name, size_t open, bool by_default) {
    const Range range = Argument(open, 1);
    std::string mode;
    bool other = false;
    for (size_t at = range.begin; at < range.end; ++at) {
      if (IsIn(At(at).text, " out app trunc in ate binary noreplace ")) {
        if (!mode.empty()) mode += "|";
        mode += At(at).text;
      } else if (!IsIn(At(at).text,
                       " std :: ios ios_base openmode | fstream ")) {
        other = true;
      }
    }
    const bool none = range.begin >= range.end;
    if (none ? by_default
             : mode.find("out") != std::string::npos ||
                   mode.find("app") != std::string::npos ||
                   mode.find("trunc") != std::string::npos) {
      facts_.Tell("open-write", At(i).place, name, mode);
    } else if (!none && by_default && other) {
      facts_.Tell("open-write", At(i).place, name, "mode unknown");
    }
  }

 private:
  static constexpr size_t kMostArguments = 200;  // the most tokens of them

  const Token& At(size_t i) const {
    static const Token kNone;
    return i < tokens_.size() ? tokens_[i] : kNone;
  }

  // Finding arguments. A call's arguments are only searched up to a maximal
  // length.

  struct Range {
    size_t begin = 0;
    size_t end = 0;
    bool known = false;  // its end was found
  };

  Range Argument(size_t open, size_t number) const {
    Range range{open + 1, open + 1, false};
    size_t depth = 0;
    for (size_t i = open; i < open + kMostArguments && i < tokens_.size();
         ++i) {
      const Token& token = At(i);
      const bool opens = token.Is("(") || token.Is("{") || token.Is("[");
      const bool closes = token.Is(")") || token.Is("}") || token.Is("]");
      if (opens) ++depth;
      if (closes) --depth;
      if (depth == 0 || (depth == 1 && token.Is(","))) {
        if (number == 0 || depth == 0) {
          range.end = i;
          range.known = true;
          if (number > 0) range.begin = i;
          return range;
        }
        --number;
        range.begin = i + 1;
      }
    }
    return range;
  }

  // The text of adjacent string literals; false for anything else.
  bool Text(const Range& range, std::string& text) const {
    for (size_t i = range.begin; i < range.end; ++i) {
      if (At(i).kind != Kind::kString) return false;
      text += At(i).text;
    }
    return range.known && range.begin < range.end;
  }

  void Flags(size_t i, const std::string& name, const Range& range) {
    std::string text;
    bool writes = false;
    bool known = range.known && range.begin < range.end;
    for (size_t at = range.begin; at < range.end; ++at) {
      const Token& token = At(at);
      text += token.text;
      known = known &&
              (token.Is("|") || token.Is("(") || token.Is(")") ||
               token.kind == Kind::kNumber || token.text.substr(0, 2) == "O_");
      writes = writes || (token.kind == Kind::kNumber && token.text != "0") ||
               IsIn(token.text,
                    " O_WRONLY O_RDWR O_APPEND O_CREAT O_TRUNC "
                    "O_TMPFILE ");
    }
    if (!known) text = "mode unknown";
    if (!known || writes) facts_.Tell("open-write", At(i).place, name, text);
  }

  const std::vector<Token>& tokens_;
  Facts& facts_;
};

#endif  // SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_OPENS_H_
