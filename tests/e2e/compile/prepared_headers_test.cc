// What is prepared for compilers is what programs would have without it: every
// header that is precompiled goes together with every other, whoever includes
// it, and is used.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/tier.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

// Those of the language's file.
const std::vector<std::string>& Precompiled() {
  static const auto* const names = new std::vector<std::string>{
      "iostream", "vector", "string", "algorithm", "bits/stdc++.h"};
  return *names;
}

// A second inclusion of a precompiled header by one of these.
constexpr char kOthers[] =
    "array atomic bitset chrono cmath complex condition_variable cstdio deque "
    "exception filesystem fstream functional future iomanip ios iterator "
    "limits list locale map memory mutex numeric optional ostream queue random "
    "ratio regex set span sstream stack stdexcept streambuf string_view thread "
    "tuple type_traits typeinfo unordered_map unordered_set utility valarray "
    "variant";

v1::RunCodeRequest WithFile(v1::RunCodeRequest request, const std::string& path,
                            const std::string& content) {
  v1::InputFile& file = *request.add_files();
  file.set_path(path);
  file.set_content(content);
  return request;
}

class PreparedHeaders : public DaemonTest {
 protected:
  static void SetUpTestSuite() {
    DaemonTest::SetUpTestSuite();
    // The last that is prepared; the folder is whole then.
    client().Run(
        Bash("for i in $(seq 250); do\n"
             "  ls /var/cache/sandglass/cpp-*/.complete && exit\n"
             "  sleep 0.1\ndone\nexit 1\n"));
  }

  // A compiler needs more than a program may have by default.
  static void ExpectSilence(const std::string& commands,
                            const std::string& what) {
    v1::RunCodeRequest request = Bash(commands);
    request.set_profile("large");
    const RunResult result = client().Run(request, absl::Minutes(2));
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK)) << what << Describe(result);
    EXPECT_EQ(result.response.stdout().data(), "") << what;
    EXPECT_EQ(result.response.stderr().data(), "") << what;
  }
};

// `try FILE NAME` compiles FILE as the daemon would, and says where that fails
// or happens without what is prepared of `first`. The compiler itself tells
// with -H what it used.
std::string Trying(const std::string& first) {
  return absl::StrCat(
      "dir=$(dirname $(ls -t /var/cache/sandglass/cpp-*/.complete | head -1))\n"
      "try() {\n"
      "  g++ -std=gnu++20 -O2 -fsyntax-only -H -I$dir $1 2>log ||\n"
      "    { echo \"$2 does not compile\"; grep error log; }\n"
      "  grep -q \"^! $dir/",
      first,
      ".gch\" log || echo \"$2 is compiled without\"\n"
      "}\n");
}

// With every change each goes before one other, and behind one.
TEST_F(PreparedHeaders, EachGoesWithEachAndIsUsed) {
  const size_t count = Precompiled().size();
  for (size_t i = 0; i < count; ++i) {
    const std::string& first = Precompiled()[i];
    for (size_t ahead = 1; ahead <= count; ++ahead) {
      if (!IsOfThisTier(ahead - 1, count)) continue;
      const std::string& second = Precompiled()[(i + ahead) % count];
      ExpectSilence(
          absl::StrCat(Trying(first), "printf '#include <%s>\\n' ", first, " ",
                       second, " >a.cpp\ntry a.cpp plain\n",
                       "printf '#include <%s>\\n' cstdio ", second,
                       " >own.h\n"
                       "printf '#include <%s>\\n#include \"own.h\"\\n' ",
                       first, " >b.cpp\ntry b.cpp own\n"),
          absl::StrCat(first, " before ", second));
    }
  }
}

TEST_F(PreparedHeaders, EachGoesWithOthersAndBehindThem) {
  for (const std::string& first : OfThisTier(Precompiled(), 3)) {
    ExpectSilence(
        absl::StrCat(
            Trying(first), "printf '#include <%s>\\n' ", first, " ", kOthers,
            " >c.cpp\ntry c.cpp others\n",
            // Nothing is used where something precedes it, and all compiles.
            "printf '#include <%s>\\n' cstdint ", first, " ", kOthers,
            " >d.cpp\n"
            "g++ -std=gnu++20 -O2 -fsyntax-only -I$dir d.cpp || echo last\n"),
        first);
  }
}

// As clients send them.
TEST_F(PreparedHeaders, ProgramsOfSeveralFilesAndIncludesRun) {
  constexpr char kMain[] = "int main() { std::cout << std::string(\"hi\"); }\n";
  const v1::RunCodeRequest two = Program(
      "cpp", absl::StrCat("#include <string>\n#include <iostream>\n", kMain));
  const v1::RunCodeRequest own = WithFile(
      Program("cpp",
              absl::StrCat("#include <iostream>\n#include \"own.h\"\n", kMain)),
      "own.h", "#pragma once\n#include <iostream>\n#include <string>\n");
  const v1::RunCodeRequest second = WithFile(
      WithFile(
          Program("cpp", "#include \"part.h\"\nint main() { Say(\"hi\"); }\n"),
          "part.h", "#include <string>\nvoid Say(std::string);\n"),
      "part.cpp",
      "#include <string>\n#include <iostream>\n#include \"part.h\"\n"
      "void Say(std::string s) { std::cout << s; }\n");
  // Names of one's own that the standard library has, too.
  const v1::RunCodeRequest named =
      WithFile(Program("cpp",
                       "#include <iostream>\n#include \"string\"\n"
                       "int main() { std::cout << kWord; }\n"),
               "string", "inline const char* kWord = \"hi\";\n");
  for (const v1::RunCodeRequest& request : {two, own, second, named}) {
    const RunResult result = Run(request);
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK)) << Describe(result);
    EXPECT_EQ(result.response.stdout().data(), "hi");
    EXPECT_EQ(result.response.compile().stderr().data(), "");
  }
  // A program that lacks an include still lacks it.
  const RunResult lacks = Run(
      Program("cpp", "#include <vector>\nint main() { std::cout << 1; }\n"));
  EXPECT_THAT(lacks, OutcomeIs(v1::OUTCOME_COMPILE_ERROR));
  EXPECT_THAT(lacks.response.compile().stderr().data(),
              HasSubstr("is not a member of"));
}

// The other compilers with what is prepared for them.
TEST_F(PreparedHeaders, PackagesAndClassesOfSeveralFilesRun) {
  const v1::RunCodeRequest go = WithFile(
      WithFile(Program("go",
                       "package main\n\nimport (\n\t\"fmt\"\n\t\"main/own\"\n"
                       "\t\"sort\"\n\t\"strings\"\n)\n\nfunc main() {\n"
                       "\tw := own.Words()\n\tsort.Strings(w)\n"
                       "\tfmt.Println(strings.Join(w, end()))\n}\n"),
               "own/own.go",
               "package own\n\nimport \"strings\"\n\n"
               "func Words() []string { return strings.Fields(\"b a\") }\n"),
      "more.go",
      "package main\n\nimport \"fmt\"\n\n"
      "func end() string { return fmt.Sprint(\"-\") }\n");
  const v1::RunCodeRequest java = WithFile(
      Program("java",
              "import java.util.*;\npublic class Main {\n"
              "  public static void main(String[] a) {\n"
              "    System.out.println(String.join(\"-\", Own.words()));\n"
              "  }\n}\n"),
      "Own.java",
      "import java.util.*;\nclass Own {\n"
      "  static List<String> words() { return new ArrayList<>(List.of(\"a\", "
      "\"b\")); }\n}\n");
  for (const v1::RunCodeRequest& request : {go, java}) {
    const RunResult result = Run(request);
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK)) << Describe(result);
    EXPECT_EQ(result.response.stdout().data(), "a-b\n");
  }
}

}  // namespace
}  // namespace sandglass::testing
