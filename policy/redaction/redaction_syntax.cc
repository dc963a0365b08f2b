#include "policy/redaction/redaction_syntax.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "policy/redaction/redaction_pattern.h"
#include "policy/text/views.h"

namespace sandglass::policy {
namespace {

using ByteSet = RedactionPattern::ByteSet;
using Kind = RedactionSyntax::Kind;

constexpr uint32_t kMaxRepeats = 1000;  // RE2's own bound
constexpr std::string_view kIgnoreCase = "(?i)";

uint8_t Byte(char c) { return static_cast<uint8_t>(c); }

ByteSet Range(uint8_t first, uint8_t last) {
  ByteSet set;
  for (unsigned byte = first; byte <= last; ++byte) set.set(byte);
  return set;
}

ByteSet One(uint8_t byte) { return Range(byte, byte); }

// The class that a letter after a backslash stands for; nullopt if it isn't
// one.
std::optional<ByteSet> NamedClass(char letter) {
  ByteSet set;
  switch (absl::ascii_tolower(Byte(letter))) {
    case 'd':
      set = Range('0', '9');
      break;
    case 'w':
      set = Range('0', '9') | Range('a', 'z') | Range('A', 'Z') | One('_');
      break;
    case 's':
      set = One('\t') | One('\n') | One('\f') | One('\r') | One(' ');
      break;
    default:
      return std::nullopt;
  }
  return absl::ascii_isupper(Byte(letter)) ? ~set : set;
}

std::optional<uint8_t> ControlByte(char letter) {
  switch (letter) {
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case 'r':
      return '\r';
    case 'f':
      return '\f';
    case 'v':
      return '\v';
    default:
      return std::nullopt;
  }
}

std::optional<uint8_t> HexDigit(char c) {
  const auto lower = static_cast<char>(absl::ascii_tolower(Byte(c)));
  if (lower >= '0' && lower <= '9') return static_cast<uint8_t>(lower - '0');
  if (lower >= 'a' && lower <= 'f') {
    return static_cast<uint8_t>(lower - 'a' + 10);
  }
  return std::nullopt;
}

// Reads from front to back; each function begins where the previous one ended.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::StatusOr<RedactionSyntax> Parse() {
    if (text_.size() > RedactionPattern::kMaxText) {
      return absl::InvalidArgumentError(
          absl::StrCat("the pattern has ", text_.size(), " bytes; at most ",
                       RedactionPattern::kMaxText, " are taken"));
    }
    if (text_.substr(0, kIgnoreCase.size()) == kIgnoreCase) {
      ignore_case_ = true;
      at_ = kIgnoreCase.size();
    }
    RedactionSyntax whole = Choice();
    if (error_.empty() && !done()) Fail(at_, "\")\" without a \"(\"");
    if (!error_.empty()) return absl::InvalidArgumentError(error_);
    return whole;
  }

 private:
  bool done() const { return at_ >= text_.size(); }
  char peek() const { return text_[at_]; }
  bool ok() const { return error_.empty(); }

  // The first error is kept, and all reading ends there.
  void Fail(size_t offset, std::string_view message) {
    if (error_.empty()) {
      error_ = absl::StrCat("at byte ", offset, ": ", AbslView(message));
    }
    at_ = text_.size();
  }

  RedactionSyntax Choice() {
    RedactionSyntax choice{.kind = Kind::kChoice};
    choice.parts.push_back(Sequence());
    while (!done() && peek() == '|') {
      ++at_;
      choice.parts.push_back(Sequence());
    }
    if (choice.parts.size() > 1) return choice;
    RedactionSyntax only = std::move(choice.parts.front());
    return only;
  }

  RedactionSyntax Sequence() {
    RedactionSyntax sequence{.kind = Kind::kSequence};
    while (!done() && peek() != '|' && peek() != ')') {
      RedactionSyntax part = Part();
      if (!ok()) break;
      sequence.parts.push_back(Repeats(std::move(part)));
    }
    return sequence;
  }

  RedactionSyntax Part() {
    const size_t begin = at_;
    const char c = text_[at_++];
    switch (c) {
      case '(':
        return Group(begin);
      case '[':
        return Bytes(Class(begin));
      case '.':
        return Bytes(~One('\n'));
      case '\\':
        return Bytes(Escape(begin));
      case '^':
      case '$':
        Fail(begin, absl::StrCat("\"", std::string(1, c),
                                 "\" is no anchor here; output has no ends to "
                                 "hold on to. For the character write \\",
                                 std::string(1, c)));
        return {};
      case '*':
      case '+':
      case '?':
        Fail(begin,
             absl::StrCat("\"", std::string(1, c), "\" has nothing to repeat"));
        return {};
      case '{':
      case '}':
      case ']':
        Fail(begin,
             absl::StrCat("for the character write \\", std::string(1, c)));
        return {};
      default:
        return Bytes(Plain(begin, c));
    }
  }

  RedactionSyntax Bytes(ByteSet set) const {
    if (ignore_case_) set |= OtherCase(set);
    return {.kind = Kind::kBytes, .bytes = set};
  }

  static ByteSet OtherCase(const ByteSet& set) {
    ByteSet other;
    for (unsigned letter = 'a'; letter <= 'z'; ++letter) {
      const unsigned upper = letter - 'a' + 'A';
      other[letter] = set[upper];
      other[upper] = set[letter];
    }
    return other;
  }

  ByteSet Plain(size_t begin, char c) {
    if (Byte(c) >= 0x80) {
      Fail(begin, "write bytes outside ASCII as \\xHH");
    }
    return One(Byte(c));
  }

  RedactionSyntax Group(size_t begin) {
    if (++nesting_ > RedactionPattern::kMaxNesting) {
      Fail(begin, absl::StrCat("more than ", RedactionPattern::kMaxNesting,
                               " groups in one another"));
      return {};
    }
    if (!done() && peek() == '?') {
      if (text_.substr(at_, 2) != "?:") {
        Fail(begin,
             "of what begins with \"(?\" only groups \"(?:\" are taken, and "
             "\"(?i)\" at the very beginning");
        return {};
      }
      at_ += 2;
    }
    RedactionSyntax inside = Choice();
    if (!ok()) return {};
    if (done()) {
      Fail(begin, "\"(\" without a \")\"");
      return {};
    }
    ++at_;
    --nesting_;
    return inside;
  }

  // Reads what follows a backslash: the bytes of a class, or one byte.
  ByteSet Escape(size_t begin) {
    if (done()) {
      Fail(begin, "\"\\\" with nothing behind it");
      return {};
    }
    const char c = text_[at_++];
    if (const auto set = NamedClass(c)) return *set;
    if (const auto byte = ControlByte(c)) return One(*byte);
    if (c == 'x') return Hex(begin);
    if (absl::ascii_ispunct(Byte(c)) && c != '_') return One(Byte(c));
    Fail(begin, absl::ascii_isgraph(Byte(c))
                    ? absl::StrCat("\"\\", std::string(1, c),
                                   "\" is not taken; there are \\d \\w \\s \\D "
                                   "\\W \\S \\n \\t \\r \\f \\v \\xHH and "
                                   "escaped punctuation")
                    : "\"\\\" before what is no punctuation");
    return {};
  }

  ByteSet Hex(size_t begin) {
    if (text_.size() - at_ >= 2) {
      const auto high = HexDigit(text_[at_]);
      const auto low = HexDigit(text_[at_ + 1]);
      if (high && low) {
        at_ += 2;
        return One(static_cast<uint8_t>(*high << 4 | *low));
      }
    }
    Fail(begin, "\"\\x\" takes two hexadecimal digits");
    return {};
  }

  ByteSet Class(size_t begin) {
    const bool negated = !done() && peek() == '^';
    if (negated) ++at_;
    if (!done() && peek() == ']') {
      Fail(begin, "the class has no bytes; for \"]\" write \\]");
    }
    ByteSet set;
    for (const size_t first = at_; ok(); AddToClass(first, set)) {
      if (done()) {
        Fail(begin, "\"[\" without a \"]\"");
        return {};
      }
      if (peek() == ']') break;
    }
    if (!ok()) return {};
    ++at_;
    if (ignore_case_) set |= OtherCase(set);
    if (negated) set.flip();
    if (set.none()) Fail(begin, "the class has no bytes");
    return set;
  }

  // Adds one byte, range or named class of a bracket expression; `first` is
  // where that expression begins.
  void AddToClass(size_t first, ByteSet& set) {
    const size_t begin = at_;
    if (peek() == '-' && begin != first && begin + 1 < text_.size() &&
        text_[begin + 1] != ']') {
      return Fail(begin, "\"-\" stands first or last; else write \\-");
    }
    const ByteSet low = ClassMember();
    const bool range = text_.substr(at_, 1) == "-" && at_ + 1 < text_.size() &&
                       text_[at_ + 1] != ']';
    if (!ok() || !range) {
      set |= low;
      return;
    }
    ++at_;
    const ByteSet high = ClassMember();
    if (!ok()) return;
    if (low.count() != 1 || high.count() != 1) {
      return Fail(begin, "a range is between two single bytes");
    }
    const auto from = static_cast<uint8_t>(low._Find_first());
    const auto to = static_cast<uint8_t>(high._Find_first());
    if (from > to) return Fail(begin, "the range ends before it begins");
    set |= Range(from, to);
  }

  ByteSet ClassMember() {
    const size_t begin = at_;
    const char c = text_[at_++];
    if (c == '\\') return Escape(begin);
    if (c == '[' && !done() && peek() == ':') {
      Fail(begin, "classes with names such as [:alpha:] are not taken");
      return {};
    }
    return Plain(begin, c);
  }

  // Reads what follows a part and says how often it is repeated.
  RedactionSyntax Repeats(RedactionSyntax part) {
    if (done()) return part;
    const size_t begin = at_;
    RedactionSyntax repeat{.kind = Kind::kRepeat};
    switch (peek()) {
      case '?':
        repeat.max = 1;
        break;
      case '*':
        break;
      case '+':
        repeat.min = 1;
        break;
      case '{':
        ReadBounds(repeat);
        break;
      default:
        return part;
    }
    if (!ok()) return part;
    ++at_;
    if (!done() &&
        (peek() == '?' || peek() == '*' || peek() == '+' || peek() == '{')) {
      Fail(begin, peek() == '?'
                      ? "lazy repeats are not taken; every match is redacted"
                      : "two repeats in a row; put the first in a group");
    }
    repeat.parts.push_back(std::move(part));
    return repeat;
  }

  // Reads "{m}", "{m,n}" or "{m,}", except for the closing brace.
  void ReadBounds(RedactionSyntax& repeat) {
    const size_t begin = at_++;
    const std::optional<uint32_t> min = Number();
    repeat.max = min;
    if (min && !done() && peek() == ',') {
      ++at_;
      repeat.max = Number();
    }
    if (!min || done() || peek() != '}') {
      return Fail(begin,
                  "expected {m}, {m,n} or {m,}; for the character write \\{");
    }
    repeat.min = *min;
    if (*min > kMaxRepeats || repeat.max.value_or(0) > kMaxRepeats) {
      return Fail(begin, absl::StrCat("at most ", kMaxRepeats, " repeats"));
    }
    if (repeat.max && *repeat.max < *min) {
      return Fail(begin, "the most is less than the least");
    }
    if (repeat.max && *repeat.max == 0) {
      return Fail(begin, "what comes no times can be left out");
    }
  }

  // Numbers that are too long are represented by kMaxRepeats + 1.
  std::optional<uint32_t> Number() {
    std::optional<uint32_t> number;
    for (; !done() && absl::ascii_isdigit(Byte(peek())); ++at_) {
      const auto digit = static_cast<uint32_t>(peek() - '0');
      number = std::min(number.value_or(0) * 10 + digit, kMaxRepeats + 1);
    }
    return number;
  }

  const std::string_view text_;
  size_t at_ = 0;
  size_t nesting_ = 0;
  bool ignore_case_ = false;
  std::string error_;
};

}  // namespace

bool RedactionSyntax::MayBeEmpty() const {
  const auto may = [](const RedactionSyntax& part) {
    return part.MayBeEmpty();
  };
  switch (kind) {
    case Kind::kBytes:
      return false;
    case Kind::kSequence:
      return std::all_of(parts.begin(), parts.end(), may);
    case Kind::kChoice:
      return std::any_of(parts.begin(), parts.end(), may);
    case Kind::kRepeat:
      return min == 0 || may(parts[0]);
  }
  return true;
}

size_t RedactionSyntax::NodeCount(size_t bound) const {
  if (kind == Kind::kBytes) return 1;
  // A choice of n has a split before each alternative but the last.
  size_t count = kind == Kind::kChoice ? parts.size() - 1 : 0;
  for (const RedactionSyntax& part : parts) {
    count = std::min(bound, count + part.NodeCount(bound));
  }
  if (kind != Kind::kRepeat) return count;
  // A split before each optional copy, and one for repeating.
  const size_t copies = max ? *max : std::max<uint32_t>(min, 1);
  const size_t splits = max ? *max - min : 1;
  return std::min(bound, count * copies + splits);
}

absl::StatusOr<RedactionSyntax> ParseRedaction(std::string_view text) {
  return Parser(text).Parse();
}

}  // namespace sandglass::policy
