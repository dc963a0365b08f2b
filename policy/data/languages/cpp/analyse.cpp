// Prints facts about the C++ files named by its arguments, the first of which
// is the program's own (docs/analysers.md). It knows tokens and the outlines of
// statements, but neither types nor the contents of headers. With --wait it
// reports that it waits, and then gets the files' names.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "analyse_facts.h"
#include "analyse_job.h"
#include "analyse_tokens.h"
#include "analyse_uses.h"

namespace {

// Goes through a program's statements twice: first for what it declares, then
// to report what it does.
class Statements {
 public:
  Statements(const std::vector<Token>& tokens, Facts& facts)
      : tokens_(tokens), facts_(facts), uses_(tokens, facts) {}

  void Look() {
    for (const bool tells : {false, true}) {
      tells_ = tells;
      for (size_t i = 0; i < tokens_.size();) {
        // A surplus "}" is no reason to stop: it may belong to another branch
        // of #if.
        i = At(i).Is("}") ? i + 1 : Statement(i);
      }
    }
  }

 private:
  static constexpr size_t kNever = SIZE_MAX;
  static constexpr size_t kMostDepth = 10'000;

  const Token& At(size_t i) const {
    static const Token kNone;
    return i < tokens_.size() ? tokens_[i] : kNone;
  }

  // All of these functions return the end of what they have examined.

  size_t Statement(size_t i) {
    const Deeper deeper(*this);
    size_t ifs = 0;
    while (true) {
      i = Prefixes(i, ifs);
      i = Plain(i);
      if (At(i).Is("catch")) continue;
      if (ifs == 0 || !At(i).Is("else")) return i;
      --ifs;
      ++i;
    }
  }

  // Skips what stands before a statement: if (…), labels, template <…>.
  size_t Prefixes(size_t i, size_t& ifs) {
    while (i < tokens_.size()) {
      const Token& token = At(i);
      if (token.Is("if")) {
        ++ifs;
        while (++i < tokens_.size() && !At(i).Is("(")) {
        }
        i = Scan(i, true);
      } else if (token.Is("else") || token.Is("try")) {
        ++i;
      } else if (token.Is("catch")) {
        i = Scan(i + 1, true);
      } else if (token.Is("case") || token.Is("default")) {
        while (i < tokens_.size() && !At(i).Is(":") && !At(i).Is(";") &&
               !At(i).Is("}")) {
          ++i;
        }
        if (At(i).Is(":")) ++i;
      } else if (token.kind == Kind::kName && At(i + 1).Is(":")) {
        i += 2;
      } else {
        return i;
      }
    }
    return i;
  }

  size_t Plain(size_t i) {
    const Token& token = At(i);
    if (token.Is("{")) return Block(i);
    if (token.Is("for") || token.Is("while")) return Loop(i);
    if (token.Is("do")) return DoLoop(i);
    if (token.Is("switch")) {
      i = Scan(i + 1, true);
      frames_.push_back(kNever);
      i = Statement(i);
      Leave();
      return i;
    }
    if (token.Is("break")) Jump(frames_.size() - 1);
    if (token.Is("return") || token.Is("goto") || token.Is("co_return")) {
      Jump(0);
    }
    size_t at = token.Is("export") ? i + 1 : i;
    if (At(at).Is("import")) Import(at);
    return Scan(i, false);
  }

  size_t Block(size_t i) {
    for (++i; i < tokens_.size() && !At(i).Is("}");) i = Statement(i);
    return i + 1;
  }

  // Handles import <x>;
  void Import(size_t i) {
    if (!tells_) return;
    if (At(i + 1).kind == Kind::kString) {
      facts_.Tell("import", At(i).place, At(i + 1).text);
    } else if (At(i + 1).Is("<")) {
      std::string name;
      for (size_t at = i + 2; at < i + 100 && at < tokens_.size() &&
                              !At(at).Is(">") && !At(at).Is(";");
           ++at) {
        name += At(at).text;
      }
      facts_.Tell("import", At(i).place, name);
    }
  }

  // Loops, and what leaves them. For each surrounding loop and switch, the
  // innermost last, `frames_` has the lowest one that a jump inside of it
  // leaves.

  void Jump(size_t depth) {
    if (!frames_.empty() && depth < frames_.back()) frames_.back() = depth;
  }

  // Ends the innermost one; returns whether a jump has left it.
  bool Leave() {
    const size_t target = frames_.back();
    frames_.pop_back();
    Jump(target);
    return target <= frames_.size();
  }

  size_t Loop(size_t i) {
    frames_.push_back(kNever);
    const size_t open = i + 1;
    const size_t close = Scan(open, true);
    const std::vector<size_t> ends = header_ends_;
    const size_t end = Statement(close);
    const bool left = Leave();
    if (left || !tells_ || !At(open).Is("(")) return end;
    if (At(i).Is("while")) {
      if (AlwaysTrue(open + 1, close - 1)) {
        facts_.Tell("endless-loop", At(i).place,
                    "while (" + Text(open + 1, close - 1) + ")");
      }
      return end;
    }
    if (ends.size() == 2 &&
        (ends[0] + 1 == ends[1] || AlwaysTrue(ends[0] + 1, ends[1]))) {
      facts_.Tell("endless-loop", At(i).place,
                  "for (;" + Text(ends[0] + 1, ends[1]) + ";)");
    }
    return end;
  }

  size_t DoLoop(size_t i) {
    frames_.push_back(kNever);
    size_t end = Statement(i + 1);
    const size_t open = end + 1;
    if (At(end).Is("while")) end = Scan(open, true);
    const bool left = Leave();
    if (!left && tells_ && At(open).Is("(") && AlwaysTrue(open + 1, end - 1)) {
      facts_.Tell("endless-loop", At(i).place,
                  "do while (" + Text(open + 1, end - 1) + ")");
    }
    return At(end).Is(";") ? end + 1 : end;
  }

  bool AlwaysTrue(size_t begin, size_t end) const {
    bool value = true;
    while (begin < end) {
      if (At(begin).Is("(") && At(end - 1).Is(")")) {
        --end;
      } else if (At(begin).Is("!")) {
        value = !value;
      } else {
        break;
      }
      ++begin;
    }
    if (begin + 1 != end) return false;
    const Token& token = At(begin);
    if (token.kind == Kind::kNumber) {
      return (std::strtod(std::string(token.text).c_str(), nullptr) != 0) ==
             value;
    }
    if (token.Is("true") || token.kind == Kind::kString) return value;
    if (token.kind == Kind::kChar) return (token.text != "\\0") == value;
    return token.Is("false") && !value;
  }

  std::string Text(size_t begin, size_t end) const {
    std::string text;
    for (; begin < end && text.size() < 200; ++begin) {
      const Token& token = At(begin);
      const char* quote = token.kind == Kind::kString ? "\""
                          : token.kind == Kind::kChar ? "'"
                                                      : "";
      text += quote + std::string(token.text) + quote;
    }
    return text;
  }

  // Reads tokens up to a statement's end or, with `parentheses`, to the end of
  // the pair that begins at `i`. Also goes through functions and classes in
  // there.
  size_t Scan(size_t i, bool parentheses) {
    if (parentheses && !At(i).Is("(")) return i;
    Line line;
    line.begin = i;
    while (i < tokens_.size()) {
      const Token& token = At(i);
      if (token.Is("{")) {
        const size_t end = Brace(i, line);
        if (end != i) {
          if (line.ended) return end;
          i = end;
          continue;
        }
        line.open.push_back(i++);
      } else if (token.Is("(") || token.Is("[")) {
        Open(i, line);
        line.open.push_back(i++);
      } else if (token.Is(")") || token.Is("]") || token.Is("}")) {
        if (!Close(i, line)) return i;
        ++i;
        if (parentheses && line.open.empty()) {
          header_ends_.swap(line.ends);
          return i;
        }
      } else if (token.Is(";") && line.open.empty()) {
        return i + 1;
      } else if (token.Is(";") && parentheses && line.open.size() == 1) {
        line.ends.push_back(i++);
      } else {
        i = Word(i, line);
      }
    }
    return i;
  }

  // What is known about the statement that is being read.
  struct Line {
    size_t begin = 0;
    std::vector<size_t> open;  // open brackets
    std::vector<size_t> ends;  // semicolons in the pair that is read
    size_t function = kNever;  // the name before its first parenthesis
    size_t type = kNever;      // the word "class" or the like
    size_t parameters = 0;     // where a template's parameters end
    bool values = false;       // in the list of an enum's values
    bool space = false;        // a namespace, or extern "C"
    bool lambda = false;       // its [] was seen, but not its body yet
    bool assigned = false;
    bool ended = false;
  };

  // Handles a closing bracket. False: it belongs to what surrounds the
  // statement.
  bool Close(size_t i, Line& line) const {
    if (!At(i).Is("}")) {
      // A surplus one is ignored.
      if (!line.open.empty() && !At(line.open.back()).Is("{")) {
        line.open.pop_back();
      }
      return true;
    }
    while (!line.open.empty()) {
      const size_t opened = line.open.back();
      line.open.pop_back();
      if (At(opened).Is("{")) return true;
    }
    return false;
  }

  void Open(size_t i, Line& line) const {
    const Token& before = i > line.begin ? At(i - 1) : tokens_[i];
    const bool value = before.kind != Kind::kOther || before.Is(")") ||
                       before.Is("]") || before.Is("}");
    if (At(i).Is("[")) {
      if (before.Is("[") && i > line.begin) return;
      const bool keyword = BeforeExpression(before) && !before.Is("delete");
      if ((!value || keyword) && !At(i + 1).Is("[")) line.lambda = true;
    } else if (line.open.empty() && line.function == kNever && !line.assigned &&
               before.kind == Kind::kName) {
      line.function = i - 1;
    }
  }

  // Handles a "{": returns the end of the function, class or namespace that it
  // begins, or `i` for a list of values.
  size_t Brace(size_t i, Line& line) {
    const Token before = i > 0 ? At(i - 1) : Token();
    if (line.lambda) {
      line.lambda = false;
      return Apart(i, inside_);
    }
    if (!line.open.empty()) return i;
    if (line.space) {
      line.ended = true;
      return Block(i);
    }
    if (line.assigned) return i;
    if (line.type != kNever && line.function == kNever) {
      if (At(line.type).Is("enum")) {
        line.values = true;
        return i;
      }
      const std::string_view name = At(ClassName(line.type)).text;
      if (!tells_) uses_.Define("class", name);
      return Apart(i, name);
    }
    const bool body =
        line.function != kNever &&
        (before.Is(")") || before.Is("}") || before.kind == Kind::kName ||
         before.Is(">") || before.Is("*") || before.Is("&") || before.Is("]"));
    if (!body || (before.kind == Kind::kName && InitialisesMember(i, line))) {
      return i;
    }
    line.ended = true;
    std::string_view inside = inside_;
    const bool member = At(line.function - 1).Is("::");
    if (member) inside = At(line.function - 2).text;
    if (!tells_) uses_.Define(inside, At(line.function).text);
    return Apart(i, inside);
  }

  // Recognises A::A() : x{1} {}
  bool InitialisesMember(size_t i, const Line& line) const {
    if (IsKeyword(At(i - 1)) || !(At(i - 2).Is(":") || At(i - 2).Is(","))) {
      return false;
    }
    return i > line.function + 2;
  }

  // The name after "class", behind any attributes.
  size_t ClassName(size_t type) const {
    size_t name = type + 1;
    while (At(name).Is("class") || At(name).Is("struct")) ++name;
    while (At(name + 1).kind == Kind::kName && !At(name + 1).Is("final"))
      ++name;
    return name;
  }

  // Jumps inside of this block can't leave anything outside of it.
  size_t Apart(size_t i, std::string_view inside) {
    std::vector<size_t> frames;
    frames.swap(frames_);
    const std::string_view outside = inside_;
    inside_ = inside;
    const size_t end = Block(i);
    inside_ = outside;
    frames_.swap(frames);
    return end;
  }

  size_t Word(size_t i, Line& line) {
    const Token& token = At(i);
    const Token before = i > line.begin ? At(i - 1) : Token();
    const bool lists = before.Is(",") || before.Is("{") || before.Is(":");
    if (line.open.empty() && i >= line.parameters) {
      if (token.Is("template") && At(i + 1).Is("<")) {
        line.parameters = EndOfParameters(i + 1);
      }
      if (token.Is("=") || token.Is("return")) line.assigned = true;
      if (token.Is("operator")) return Operator(i, line);
      if (token.kind == Kind::kName && line.type == kNever &&
          IsIn(token.text, " class struct union enum ")) {
        line.type = i;
      }
      if (token.Is("namespace") ||
          (token.Is("extern") && At(i + 1).kind == Kind::kString)) {
        line.space = true;
        if (!tells_ && At(i + 2).Is("{")) uses_.Define("class", At(i + 1).text);
      }
      // A::A() : x(1)
      const bool initialises = line.function != kNever && !line.assigned &&
                               (At(i + 1).Is("(") || At(i + 1).Is("{"));
      if (initialises && lists && token.kind == Kind::kName) return i + 1;
    }
    if (line.values && line.open.size() == 1 && lists) {
      if (!tells_) uses_.Define("class", token.text);
      return i + 1;
    }
    if (token.Is("throw") || token.Is("co_yield")) Jump(0);
    if (!tells_) {
      uses_.Collect(i);
      return i + 1;
    }
    if (token.kind != Kind::kName && !token.Is("::")) return i + 1;
    if (token.Is("::") && before.Is(">")) return i + 2;
    bool leaves = false;
    const size_t end = uses_.Tell(i, inside_, leaves);
    if (leaves) Jump(0);
    return end;
  }

  // The place after the ">" for the "<" at `i`.
  size_t EndOfParameters(size_t i) const {
    size_t depth = 0;
    for (const size_t last = i + 1000; i < last && i < tokens_.size(); ++i) {
      if (At(i).Is("<")) ++depth;
      if (At(i).Is(">") && --depth == 0) break;
    }
    return i + 1;
  }

  // The operator's sign doesn't act as a sign here: operator==(…),
  // operator()(…).
  size_t Operator(size_t i, Line& line) const {
    if (line.function == kNever) line.function = i;
    size_t end = i + 1;
    if (At(end).Is("(")) return end + 2;
    while (end < i + 5 && !At(end).Is("(") && !At(end).Is(";") &&
           !At(end).Is("{")) {
      ++end;
    }
    return end;
  }

  // Limits the depth of the stack.
  struct Deeper {
    explicit Deeper(Statements& statements) : depth(statements.depth_) {
      if (++depth > kMostDepth) throw std::length_error("nested too deeply");
    }
    ~Deeper() { --depth; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    size_t& depth;
  };

  const std::vector<Token>& tokens_;
  Facts& facts_;
  Uses uses_;
  std::vector<size_t> frames_;
  std::vector<size_t> header_ends_;  // semicolons of the last pair scanned
  std::string_view inside_;          // the class of the current function
  size_t depth_ = 0;
  bool tells_ = false;
};

std::string FactsOf(const std::vector<std::string>& names,
                    std::string (*read)(const std::string&)) {
  Facts facts;
  std::deque<std::string> sources;  // facts refer to them until the end
  for (const std::string& name : names) {
    sources.push_back(read(name));
    facts.Begin(sources.back());
    try {
      const Tokens tokens(sources.back(), facts);
      Statements(tokens.program, facts).Look();
      Statements(tokens.macros, facts).Look();
    } catch (const SyntaxError& error) {
      facts.Tell("syntax-error", error.place, error.what());
      break;
    }
  }
  return facts.Text();
}

}  // namespace

int main(int argc, char** argv) {
  LookJob job{.files = {argv + 1, argv + argc}, .end = ""};
  int code = 0;
  try {
    if (!job.files.empty() && job.files[0] == "--wait") {
      FactsOf({kSample}, [](const std::string& text) { return text; });
      job = AwaitJob();
    }
    if (job.files.empty()) {
      throw std::runtime_error("usage: analyse FILE… | --wait");
    }
    WriteAll(FactsOf(job.files, &Read));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "the program can't be analysed: %s\n", error.what());
    code = 1;
  }
  if (!job.end.empty()) WriteAll(job.end + std::to_string(code) + "\n");
  return code;
}
