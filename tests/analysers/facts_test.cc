// What is told of small programs. They are in programs/LANGUAGE.txt, one after
// another:
//
//   === what it is about
//   the program's main file
//   --- name of a further file, if any
//   its text
//   --> the facts, as Analysis::Lines has them
//
// With SANDGLASS_WRITE_FACTS set, what was told is written there instead of
// being compared; read it before it is believed.

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "sandbox/jail/job_frame.h"
#include "tests/analysers/analyser_process.h"
#include "tests/support/tier.h"

namespace sandglass::testing {
namespace {

constexpr size_t kMinPrograms = 40;

struct Example {
  std::string name;
  ProgramFiles files;
  std::string facts;
};

std::string PathOf(const std::string& language) {
  return absl::StrCat(SANDGLASS_SOURCE_DIR "/tests/analysers/programs/",
                      language, ".txt");
}

std::vector<Example> ReadExamples(const std::string& language) {
  const std::string source_file = Analyser::Of(language).source_file();
  std::vector<Example> examples;
  std::string* text = nullptr;
  for (const std::string& line : std::vector<std::string>(
           absl::StrSplit(ReadFile(PathOf(language)), '\n'))) {
    if (absl::StartsWith(line, "=== ")) {
      examples.push_back({line.substr(4), {{source_file, ""}}, ""});
      text = &examples.back().files.back().second;
    } else if (text != nullptr && absl::StartsWith(line, "--- ")) {
      examples.back().files.emplace_back(line.substr(4), "");
      text = &examples.back().files.back().second;
    } else if (text != nullptr && line == "-->") {
      text = &examples.back().facts;
    } else if (text != nullptr) {
      absl::StrAppend(text, line, "\n");
    }
  }
  // Nothing comes behind the last line's end.
  if (text != nullptr) text->pop_back();
  return examples;
}

void WriteExamples(const std::string& language,
                   const std::vector<Example>& examples) {
  std::string text;
  for (const Example& example : examples) {
    absl::StrAppend(&text, "=== ", example.name, "\n", example.files[0].second);
    for (size_t i = 1; i < example.files.size(); ++i) {
      absl::StrAppend(&text, "--- ", example.files[i].first, "\n",
                      example.files[i].second);
    }
    absl::StrAppend(&text, "-->\n", example.facts);
  }
  WriteFile(PathOf(language), text);
}

bool Writes() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing sets it.
  static const bool writes = std::getenv("SANDGLASS_WRITE_FACTS") != nullptr;
  return writes;
}

// Of an analyser that waits, the same. With every change one of `nth` programs.
void ExpectFacts(const std::string& language, bool waits = false,
                 size_t nth = 1) {
  std::vector<Example> examples = ReadExamples(language);
  EXPECT_GE(examples.size(), kMinPrograms);
  if (!Writes()) examples = OfThisTier(std::move(examples), nth);
  for (Example& example : examples) {
    SCOPED_TRACE(example.name);
    const Analysis analysis = Analyser::Of(language, waits).Look(example.files);
    // A compiler has the last word on what isn't a program.
    if (!absl::StrContains(example.facts, "syntax-error")) {
      EXPECT_EQ(analysis.exit_code, 0) << analysis.err;
    }
    if (Writes()) {
      example.facts = analysis.Lines();
      continue;
    }
    EXPECT_EQ(analysis.Lines(), example.facts) << analysis.err;
  }
  if (Writes()) WriteExamples(language, examples);
}

TEST(Cpp, TellsFacts) { ExpectFacts("cpp"); }
TEST(Go, TellsFacts) { ExpectFacts("go"); }
// Each starts a Java virtual machine.
TEST(Java, TellsFacts) { ExpectFacts("java", false, 4); }
TEST(JavaScript, TellsFacts) { ExpectFacts("javascript"); }
TEST(CppThatWaits, TellsFacts) { ExpectFacts("cpp", true, 4); }
TEST(GoThatWaits, TellsFacts) { ExpectFacts("go", true, 4); }
TEST(JavaScriptThatWaits, TellsFacts) { ExpectFacts("javascript", true, 4); }
TEST(Ruby, TellsFacts) { ExpectFacts("ruby"); }

constexpr char kJavaProgram[] =
    "public class Main { public static void main(String[] a) { System.gc(); } "
    "}";

TEST(Java, TellsFactsOfAJobThatItWaitedFor) {
  const Analyser& analyser = Analyser::Of("java");
  const TempDir program;
  WriteFile(program.Path("Main.java"), kJavaProgram);
  sandbox::ProgramSpec job;
  job.argv = {"--facts", "facts", "Main.java"};
  const Analysis analysis = analyser.LookWith(
      {"/usr/bin/java", "-jar", analyser.prepared() + "/compile.jar", "--wait",
       analyser.prepared() + "/Rehearsal.java"},
      program.path(), sandbox::JobFrame(job, std::nullopt));
  EXPECT_EQ(analysis.exit_code, 0) << analysis.err;
  // Nothing of the sample.
  EXPECT_EQ(analysis.Lines(),
            "use 1:45 java.lang.String\nuse 1:59 java.lang.System.gc\n");
  EXPECT_NE(ReadFile(program.Path("main.jar")), "<missing>");
}

TEST(Java, TellsNothingUnlessItIsAsked) {
  const Analyser& analyser = Analyser::Of("java");
  const TempDir program;
  WriteFile(program.Path("Main.java"), kJavaProgram);
  const Analysis analysis =
      analyser.LookWith({"/usr/bin/java", "-jar",
                         analyser.prepared() + "/compile.jar", "Main.java"},
                        program.path());
  EXPECT_EQ(analysis.exit_code, 0) << analysis.err;
  EXPECT_EQ(analysis.facts, "<missing>");
  EXPECT_NE(ReadFile(program.Path("main.jar")), "<missing>");
}

TEST(Java, FactsThatCantBeWrittenFailTheCompilation) {
  const Analyser& analyser = Analyser::Of("java");
  const TempDir program;
  WriteFile(program.Path("Main.java"), kJavaProgram);
  const Analysis analysis = analyser.LookWith(
      {"/usr/bin/java", "-jar", analyser.prepared() + "/compile.jar", "--facts",
       "missing/facts", "Main.java"},
      program.path());
  EXPECT_EQ(analysis.exit_code, 1);
  EXPECT_EQ(ReadFile(program.Path("main.jar")), "<missing>");
}

}  // namespace
}  // namespace sandglass::testing
