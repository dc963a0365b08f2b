#ifndef SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_TOKENS_H_
#define SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_TOKENS_H_

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analyse_facts.h"
#include "analyse_lexer.h"

// A program's tokens without preprocessor lines. Included files are reported,
// and short macros without parameters are expanded, one level deep. What other
// macros stand for is kept separately.
class Tokens {
 public:
  Tokens(std::string_view source, Facts& facts)
      : facts_(facts), lexer_(source) {
    bool line_start = true;
    for (Token token; lexer_.Next(token, line_start);) {
      if (line_start && token.Is("#")) {
        Directive();
        continue;
      }
      line_start = false;
      Add(token);
    }
  }

  std::vector<Token> program;
  std::vector<Token> macros;

 private:
  static constexpr size_t kMostMacro = 16;
  static constexpr size_t kMostTokens = size_t{4} << 20;

  void Add(const Token& token) {
    const auto macro =
        token.kind == Kind::kName ? values_.find(token.text) : values_.end();
    if (macro == values_.end()) {
      program.push_back(token);
    } else {
      for (Token part : macro->second) {
        part.place = token.place;
        program.push_back(part);
      }
    }
    if (program.size() > kMostTokens) throw std::length_error("too long");
  }

  // Handles what follows a "#", up to the end of its line.
  void Directive() {
    const size_t place = lexer_.PlaceOf(lexer_.at() - 1);
    bool ended = false;
    lexer_.SkipSpace(ended);
    std::string_view name;
    if (!ended) {
      name = lexer_.NameAt(lexer_.at());
      lexer_.MoveTo(lexer_.at() + name.size());
      lexer_.SkipSpace(ended);
    }
    const bool includes =
        name == "include" || name == "include_next" || name == "import";
    if (includes && !ended) Include(place);
    const size_t begin = lexer_.at();
    std::vector<Token> line;
    while (!ended) {
      const size_t before = lexer_.at();
      Token token;
      if (!lexer_.Next(token, ended)) break;
      if (!ended) {
        line.push_back(token);
      } else {
        lexer_.MoveTo(before);
      }
    }
    if (line.empty() || line[0].kind != Kind::kName) return;
    const std::string_view macro = lexer_.NameAt(begin);
    if (name == "undef") values_.erase(macro);
    if (name == "define") {
      Define(macro, lexer_.At(begin + macro.size()) == '(', line);
    }
  }

  void Define(std::string_view macro, bool has_parameters,
              const std::vector<Token>& line) {
    auto value = line.begin() + 1;
    if (has_parameters) {
      value = std::find_if(value, line.end(),
                           [](const Token& token) { return token.Is(")"); });
      if (value != line.end()) ++value;
    } else if (line.size() <= kMostMacro) {
      values_[macro].assign(value, line.end());
      return;
    }
    // The parameters are left out, because any text may be given for them.
    std::copy_if(value, line.end(), std::back_inserter(macros),
                 [&](const Token& token) {
                   return std::none_of(line.begin() + 1, value,
                                       [&](const Token& parameter) {
                                         return parameter.kind == Kind::kName &&
                                                parameter.Is(token.text);
                                       });
                 });
    macros.push_back({Kind::kOther, ";", line[0].place});
  }

  void Include(size_t place) {
    const size_t begin = lexer_.at();
    const std::string& text = lexer_.text();
    const char open = lexer_.At(begin);
    const char close = open == '<' ? '>' : open == '"' ? '"' : '\0';
    const size_t line_end = std::min(text.find('\n', begin), text.size());
    const size_t end = close == '\0'
                           ? line_end
                           : std::min(text.find(close, begin + 1), line_end);
    if (end == line_end) {
      facts_.Tell("import-unknown", place, "#include");
      return;
    }
    facts_.Tell("import", place,
                std::string_view(text).substr(begin + 1, end - begin - 1));
    lexer_.MoveTo(end + 1);
  }

  Facts& facts_;
  Lexer lexer_;
  std::unordered_map<std::string_view, std::vector<Token>> values_;
};

#endif  // SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_TOKENS_H_
