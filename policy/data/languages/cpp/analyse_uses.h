#ifndef SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_USES_H_
#define SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_USES_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "analyse_facts.h"
#include "analyse_lexer.h"
#include "analyse_opens.h"

// Whether this is a keyword after which an expression may come.
inline bool BeforeExpression(const Token& token) {
  return token.kind == Kind::kName &&
         IsIn(token.text,
              " return throw else do case co_return co_yield co_await new "
              "delete "
              "and or xor not_eq sizeof alignof typeid ");
}

inline bool IsKeyword(const Token& token) {
  return BeforeExpression(token) ||
         IsIn(
             token.text,
             " export if for while switch goto break continue default try "
             "catch using "
             "namespace template typename class struct union enum public "
             "private "
             "protected virtual friend operator static extern inline constexpr "
             "consteval constinit const volatile mutable explicit typedef auto "
             "void bool char short int long float double signed unsigned "
             "wchar_t "
             "char8_t char16_t char32_t decltype noexcept static_assert this "
             "true "
             "false nullptr override final concept requires static_cast "
             "dynamic_cast const_cast reinterpret_cast alignas thread_local "
             "register __attribute__ __extension__ __restrict typeof "
             "__typeof__ ");
}

// Finds the names that a program uses, and which of them are its own.
class Uses {
 public:
  Uses(const std::vector<Token>& tokens, Facts& facts)
      : tokens_(tokens), facts_(facts), opens_(tokens, facts) {}

  // Notes one of the program's own functions, or one of a class; "" means no
  // class.
  void Define(std::string_view inside, std::string_view name) {
    functions_[inside].insert(name);
  }
  bool Defines(std::string_view inside, std::string_view name) const {
    const auto found = functions_.find(inside);
    return found != functions_.end() && found->second.count(name) != 0;
  }

  // Notes what is declared or renamed at the token `i`, if anything is.
  void Collect(size_t i) {
    const Token& token = tokens_[i];
    if (token.Is("using") || token.Is("namespace")) return Rename(i);
    if (token.kind != Kind::kName || IsKeyword(token) || i == 0) return;
    const Token& next = At(i + 1);
    const bool ends = next.Is("=") || next.Is(";") || next.Is(",") ||
                      next.Is(")") || next.Is("{") || next.Is("[") ||
                      next.Is(":") || next.Is(">");
    size_t type = i - 1;
    while (type > 0 && (At(type).Is("*") || At(type).Is("&") ||
                        At(type).Is("&&") || At(type).Is("const"))) {
      --type;
    }
    const bool typed = (At(type).kind == Kind::kName &&
                        !BeforeExpression(At(type)) && !At(type).Is("goto")) ||
                       At(type).Is(">");
    if (!typed || !ends) return;
    variables_.insert(token.text);
    // The name of a template's type parameter.
    const Token& before = At(i - 1);
    if (before.Is("typename") || (before.Is("class") && i > 1 &&
                                  (At(i - 2).Is("<") || At(i - 2).Is(",")))) {
      Define("class", token.text);
    }
    // A function object.
    if (At(type).Is(">") || At(type).Is("auto")) Define("", token.text);
  }

  // Reports the name that begins at `i`, inside the class `inside`, and returns
  // where it ends. Sets `leaves` for calls that don't return.
  size_t Tell(size_t i, std::string_view inside, bool& leaves) {
    const Token before = i > 0 ? At(i - 1) : Token();
    if (before.Is(".") || before.Is("->")) {
      if (At(i + 1).Is("(") && !IsKeyword(At(i))) Method(i);
      return i + 1;
    }
    const bool global = At(i).Is("::");
    size_t end = global ? i + 1 : i;
    if (At(end).kind != Kind::kName) return i + 1;
    if (IsIn(At(end).text, " asm __asm__ __asm ")) {
      facts_.Tell("use", At(end).place, "asm");
      return end + 1;
    }
    if (IsKeyword(At(end))) return end + 1;
    std::vector<std::string_view> parts = {At(end++).text};
    while (At(end).Is("::") && At(end + 1).kind == Kind::kName &&
           !At(end + 1).Is("template")) {
      parts.push_back(At(end + 1).text);
      end += 2;
    }
    if (Skipped(i, end, global, parts, inside)) return end;
    const std::string name = FullName(parts);
    facts_.Tell("use", At(i).place, name);
    opens_.Opened(i, name, end);
    if (At(end).Is("(")) {
      if (name == "dlsym") opens_.Looked(end);
      leaves = IsIn(name,
                    " exit _exit _Exit quick_exit abort terminate longjmp "
                    "siglongjmp pthread_exit rethrow_exception execl execlp "
                    "execle execv execvp execve execvpe fexecve "
                    "__builtin_unreachable __builtin_trap unreachable ");
    }
    return end;
  }

 private:
  static constexpr size_t kMostParts = 200;
  static constexpr size_t kMostName = 1000;

  const Token& At(size_t i) const {
    static const Token kNone;
    return i < tokens_.size() ? tokens_[i] : kNone;
  }

  // using std::filesystem::remove; using namespace …; namespace fs = …;
  void Rename(size_t i) {
    const bool alias = At(i + 2).Is("=");
    size_t at = alias ? i + 3 : i + 1;
    const std::string_view own = At(i + 1).text;
    if (At(at).Is("typename") || At(at).Is("namespace")) return;
    if (At(at).Is("::")) ++at;
    std::vector<std::string_view> parts;
    while (At(at).kind == Kind::kName && parts.size() < kMostParts) {
      parts.push_back(At(at++).text);
      if (!At(at).Is("::")) break;
      ++at;
    }
    if (parts.empty() || (!alias && (parts.size() < 2 || own == "enum")))
      return;
    const std::string_view name = alias ? own : parts.back();
    const std::string full = Joined(parts);
    if (full != name) names_[name] = full;
  }

  // Joins the parts, without "std::".
  static std::string Joined(const std::vector<std::string_view>& parts) {
    std::string text;
    for (size_t i = parts.size() > 1 && parts[0] == "std" ? 1 : 0;
         i < parts.size() && text.size() < kMostName; ++i) {
      if (!text.empty()) text += "::";
      text += parts[i];
    }
    return text;
  }

  std::string FullName(const std::vector<std::string_view>& parts) const {
    const std::string name = Joined(parts);
    const auto renamed = names_.find(parts[0]);
    if (renamed == names_.end()) return name;
    return renamed->second + name.substr(parts[0].size());
  }

  // Whether this isn't a use of something from elsewhere: it is the program's
  // own name, or part of a declaration.
  bool Skipped(size_t begin, size_t end, bool global,
               const std::vector<std::string_view>& parts,
               std::string_view inside) const {
    const Token before = begin > 0 ? At(begin - 1) : Token();
    const Token& after = At(end);
    const bool declares = before.kind == Kind::kName &&
                          !BeforeExpression(before) && !before.Is("using") &&
                          (!IsKeyword(before) || IsType(before));
    if (before.Is("namespace") || before.Is("goto") || declares) return true;
    if (parts.size() > 1)
      return parts[0] != "std" && !names_.count(parts[0]) &&
             Defines("class", parts[0]);
    const bool called = after.Is("(");
    if (global) return Defines("", parts[0]);
    if (Defines("", parts[0]) || Defines(inside, parts[0]) ||
        Defines("class", parts[0])) {
      return true;
    }
    if (called || names_.count(parts[0]) != 0) return false;
    if (after.kind == Kind::kName && !IsKeyword(after)) return false;  // a type
    if (after.Is("{") || after.Is("<"))
      return parts[0].find("stream") == std::string_view::npos;
    const bool value = before.Is("=") || before.Is("(") || before.Is(",") ||
                       before.Is("{") || before.Is("?") || before.Is(":") ||
                       before.Is("&") || before.Is("return");
    const bool ends = after.Is(";") || after.Is(",") || after.Is(")") ||
                      after.Is("}") || after.Is(":");
    return !value || !ends || variables_.count(parts[0]) != 0;
  }

  static bool IsType(const Token& token) {
    return IsIn(token.text,
                " void bool char short int long float double signed unsigned "
                "auto class struct union enum const wchar_t template "
                "typename ");
  }

  void Method(size_t i) {
    const std::string name = "?." + std::string(At(i).text);
    facts_.Tell("use", At(i).place, name);
    if (name == "?.open") opens_.Stream(i, name, i + 1, false);
  }

  const std::vector<Token>& tokens_;
  Facts& facts_;
  Opens opens_;
  std::map<std::string_view, std::set<std::string_view>> functions_;
  std::set<std::string_view> variables_;
  std::map<std::string_view, std::string> names_;  // renamed ones
};

#endif  // SANDGLASS_POLICY_DATA_LANGUAGES_CPP_ANALYSE_USES_H_
