// Programs that are made to be hard to look at: an analyser ends, and what it
// says is whole or nothing.

#include <algorithm>
#include <cstdint>
#include <map>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/analysers/analyser_process.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Values;

constexpr size_t kMaxFacts = 4096;
constexpr size_t kMaxBytes = size_t{256} * 1024;

std::string Repeat(const std::string& text, size_t times) {
  std::string repeated;
  repeated.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) repeated += text;
  return repeated;
}

// How a language writes what the tests are about.
struct Syntax {
  const char* language;
  const char* begin;  // of a program whose statements follow
  const char* end;
  const char* value;   // begins a statement that is given a value
  const char* call;    // a statement that calls something
  const char* called;  // the name that it is told by
  const char* comment;
  bool waits = false;
};

std::ostream& operator<<(std::ostream& os, const Syntax& syntax) {
  return os << syntax.language;
}

const Syntax kCpp = {
    "cpp", "void f() {\n", "\n}\n", "auto x = ", "abort();", "abort", "// "};
const Syntax kGo = {
    "go",          "package main\nimport \"os\"\nfunc main() {\n",
    "\n}\n",       "_ = ",
    "os.Exit(1);", "os.Exit",
    "// "};
const Syntax kJava = {
    "java",
    "public class Main { public static void main(String[] x) {\n",
    "\n} }\n",
    "Object y = ",
    "System.gc();",
    "java.lang.System.gc",
    "// "};
const Syntax kJavaScript = {
    "javascript", "", "\n", "x = ", "eval(1);", "eval", "// "};
const Syntax kRuby = {"ruby", "", "\n", "x = ", "fork(1);", "fork", "# "};

// The same of an analyser that waits.
Syntax Waiting(Syntax syntax) {
  syntax.waits = true;
  return syntax;
}

// Whether it kept to the format, and told all, too much or nothing.
void ExpectOrderly(const Analysis& analysis) {
  ASSERT_NE(analysis.exit_code, -1) << "it took too long";
  EXPECT_LE(analysis.facts.size(), kMaxBytes);
  EXPECT_THAT(analysis.Lines(), Not(HasSubstr("<no fact>")));
  if (analysis.whole() || analysis.overflown()) {
    const std::vector<std::string> lines = absl::StrSplit(analysis.facts, '\n');
    EXPECT_LE(lines.size(), kMaxFacts + 3);
  } else {
    EXPECT_NE(analysis.exit_code, 0);
    EXPECT_NE(analysis.err, "");
  }
  for (const char c : analysis.facts) {
    EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t');
  }
}

class HostilePrograms : public ::testing::TestWithParam<Syntax> {
 protected:
  Analysis Look(const std::string& statements) const {
    Analysis analysis = analyser().Look(
        absl::StrCat(GetParam().begin, statements, GetParam().end));
    ExpectOrderly(analysis);
    return analysis;
  }
  const Analyser& analyser() const {
    return Analyser::Of(GetParam().language, GetParam().waits);
  }
  bool Is(const char* language) const {
    return std::string(GetParam().language) == language;
  }
};

TEST_P(HostilePrograms, DeepNestingEndsTheAnalysisInAnOrderlyWay) {
  for (const auto& [open, close] :
       std::vector<std::pair<std::string, std::string>>{{"(", ")"},
                                                        {"[", "]"},
                                                        {"{", "}"},
                                                        {"!", ""},
                                                        {"-", ""},
                                                        {"(", ""},
                                                        {"f(", ")"},
                                                        {"a[", "]"},
                                                        {"1+", ""},
                                                        {"a.", ""},
                                                        {"a?a:", ""}}) {
    SCOPED_TRACE(open);
    Look(absl::StrCat(GetParam().value, Repeat(open, 100'000), "1",
                      Repeat(close, 100'000), ";"));
  }
}

TEST_P(HostilePrograms, NestedStatementsEndTheAnalysisInAnOrderlyWay) {
  for (const auto& [open, close] :
       std::vector<std::pair<std::string, std::string>>{
           {"while (1) {\n", "}\n"},
           {"if (1) ", "\n"},
           {"for {", "}"},
           {"while 1\n", "end\n"},
           {"x { ", "}"},
           {"x(function() {", "})"},
           {"do ", ";"},
           {"[]{", "}"},
           {"for (auto a = []{", ";;){}"}}) {
    SCOPED_TRACE(open);
    Look(absl::StrCat(Repeat(open, 20'000), GetParam().call,
                      Repeat(close, 20'000)));
  }
}

TEST_P(HostilePrograms, AMegabyteInOneLineIsAnalysedWhole) {
  // Java's methods end at 64 KiB of code.
  const size_t calls = Is("java") ? 10'000 : (size_t{1} << 20) / 8;
  const Analysis analysis = Look(Repeat(GetParam().call, calls));
  EXPECT_TRUE(analysis.whole()) << analysis.err;
  EXPECT_THAT(analysis.Lines(),
              HasSubstr(absl::StrCat(" x", calls, " ", GetParam().called)));
}

TEST_P(HostilePrograms, AMegabyteInOneTextIsAnalysed) {
  // Java's constants end at 64 KiB.
  const std::string text(Is("java") ? 60'000 : size_t{1} << 20, 'a');
  const Analysis analysis =
      Look(absl::StrCat(GetParam().value, "\"", text, "\"; ", GetParam().call));
  EXPECT_THAT(analysis.Lines(), HasSubstr(GetParam().called));
}

TEST_P(HostilePrograms, AMegabyteInOneCommentIsAnalysedWhole) {
  const Analysis analysis =
      Look(absl::StrCat(GetParam().comment, std::string(size_t{1} << 20, '('),
                        "\n", GetParam().call));
  EXPECT_TRUE(analysis.whole()) << analysis.err;
  EXPECT_THAT(analysis.Lines(), HasSubstr(GetParam().called));
}

// A program with `count` different names of facts that are `size` long.
std::string ManyNames(const std::string& language, size_t count, size_t size) {
  std::string program;
  for (size_t i = 0; i < count; ++i) {
    std::string name = absl::StrCat("n", i);
    if (name.size() < size) name += std::string(size - name.size(), 'x');
    if (language == "cpp") {
      absl::StrAppend(&program, "#include <", name, ">\n");
    } else if (language == "go") {
      absl::StrAppend(&program, i == 0 ? "package main\n" : "", "import \"",
                      name, "\"\n");
    } else if (language == "java") {
      absl::StrAppend(
          &program, i == 0 ? "class Main { void f() throws Exception {" : "",
          "Class.forName(\"", name, "\");\n", i + 1 == count ? "}}" : "");
    } else {
      absl::StrAppend(&program, "require('", name, "');\n");
    }
  }
  return program;
}

TEST_P(HostilePrograms, TooManyFactsAreReportedAsTooMany) {
  const std::string language = GetParam().language;
  // One of its own goes with require(), Class.forName() and the like.
  const Analysis max = analyser().Look(ManyNames(language, 4000, 0));
  EXPECT_TRUE(max.whole()) << max.err;
  const Analysis more = analyser().Look(ManyNames(language, 4200, 0));
  EXPECT_TRUE(more.overflown()) << more.err;
  const std::vector<std::string> lines = absl::StrSplit(more.facts, '\n');
  EXPECT_EQ(lines.size(), kMaxFacts + 3);
}

TEST_P(HostilePrograms, LongNamesAreCutAndTooManyBytesAreReported) {
  const std::string language = GetParam().language;
  const Analysis long_names = analyser().Look(ManyNames(language, 1000, 300));
  EXPECT_TRUE(long_names.whole()) << long_names.err;
  EXPECT_THAT(long_names.Lines(),
              HasSubstr(absl::StrCat(" n0", std::string(198, 'x'), "\n")));
  const Analysis more = analyser().Look(ManyNames(language, 2000, 300));
  EXPECT_TRUE(more.overflown()) << more.err;
  EXPECT_LE(more.facts.size(), kMaxBytes);
  EXPECT_GT(more.facts.size(), kMaxBytes - 300);
}

TEST_P(HostilePrograms, BytesThatAreNoTextEndTheAnalysisInAnOrderlyWay) {
  for (const std::string& bytes : std::vector<std::string>{
           "\xff\xfe", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80",
           "\x01\x02\x1b[31m\x7f", "\xe2\x80\xa8", "\xef\xbb\xbf"}) {
    SCOPED_TRACE(::testing::PrintToString(bytes));
    Look(absl::StrCat(GetParam().comment, bytes, "\n", GetParam().call));
    Look(absl::StrCat(GetParam().value, "\"", bytes, "\"; ", GetParam().call));
    Look(absl::StrCat(bytes, GetParam().call));
  }
}

TEST_P(HostilePrograms, GarbageEndsTheAnalysisInAnOrderlyWay) {
  std::minstd_rand random(1);
  for (int round = 0; round < 5; ++round) {
    std::string bytes(50'000, ' ');
    std::generate(bytes.begin(), bytes.end(),
                  [&] { return static_cast<char>(1 + random() % 255); });
    ExpectOrderly(analyser().Look(bytes));
    std::generate(bytes.begin(), bytes.end(), [&] {
      return "(){}[]<>;,.:#\"'\\\n %=+-ab1`|&"[random() % 28];
    });
    ExpectOrderly(analyser().Look(bytes));
  }
}

TEST_P(HostilePrograms, AByteOrderMarkIsNoPartOfTheProgram) {
  const Analysis analysis = analyser().Look(absl::StrCat(
      "\xef\xbb\xbf", GetParam().begin, GetParam().call, GetParam().end));
  EXPECT_TRUE(analysis.whole()) << analysis.err;
  if (Is("java")) {
    // javac doesn't take it, and so won't run it.
    EXPECT_THAT(analysis.Lines(), HasSubstr("syntax-error"));
    EXPECT_NE(analysis.exit_code, 0);
    return;
  }
  EXPECT_THAT(analysis.Lines(), HasSubstr(GetParam().called));
}

TEST_P(HostilePrograms, FilesThatCantBeReadFailTheAnalysis) {
  const TempDir directory;
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{}, {"missing"}, {"."}}) {
    const Analysis analysis = analyser().LookIn(directory.path(), arguments);
    EXPECT_NE(analysis.exit_code, 0);
    EXPECT_NE(analysis.exit_code, -1);
    EXPECT_FALSE(analysis.whole());
    EXPECT_NE(analysis.err, "");
  }
}

// A suite each, so that they can run beside each other.
INSTANTIATE_TEST_SUITE_P(Cpp, HostilePrograms, Values(kCpp));
INSTANTIATE_TEST_SUITE_P(CppThatWaits, HostilePrograms, Values(Waiting(kCpp)));
INSTANTIATE_TEST_SUITE_P(Go, HostilePrograms, Values(kGo));
INSTANTIATE_TEST_SUITE_P(GoThatWaits, HostilePrograms, Values(Waiting(kGo)));
INSTANTIATE_TEST_SUITE_P(Java, HostilePrograms, Values(kJava));
INSTANTIATE_TEST_SUITE_P(JavaScript, HostilePrograms, Values(kJavaScript));
INSTANTIATE_TEST_SUITE_P(JavaScriptThatWaits, HostilePrograms,
                         Values(Waiting(kJavaScript)));
INSTANTIATE_TEST_SUITE_P(Ruby, HostilePrograms, Values(kRuby));

}  // namespace
}  // namespace sandglass::testing
