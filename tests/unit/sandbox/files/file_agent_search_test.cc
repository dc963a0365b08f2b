#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sandbox/file_agent/file_patterns.h"
#include "sandbox/files/file_agent_client.h"
#include "tests/support/calls/agent_fixture.h"

namespace sandglass::sandbox {
namespace {

using Occurrences = FileAgent::Occurrences;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class FileSearchTest : public sandglass::testing::AgentFixture {
 protected:
  void MakeTree() {
    for (const char* directory :
         {"/src/deep/er", "/src/.hidden", "/.git", "/docs"}) {
      std::filesystem::create_directories(At(directory));
    }
    Put("/top.py", "import os\n");
    Put("/src/a.py", "one\ntwo needle\nthree\n");
    Put("/src/b.txt", "needle needle\n");
    Put("/src/deep/c.py", "x\n");
    Put("/src/deep/er/d.py", "needle");
    Put("/src/.hidden/e.py", "needle\n");
    Put("/src/.f.py", "needle\n");
    Put("/.git/config", "needle\n");
    Put("/docs/g.md", "# needle\n");
  }

  std::vector<std::string> Find(const std::string& path,
                                const std::string& pattern,
                                const GlobOptions& options = {}) {
    const auto found = agent().Glob(path, pattern, options, limits_);
    EXPECT_TRUE(found.ok()) << FileCodeName(found.result.code);
    std::vector<std::string> paths;
    for (const FileFacts& facts : found.value.entries) {
      paths.push_back(facts.name);
    }
    return paths;
  }

  std::vector<std::string> Search(const std::string& path,
                                  const std::string& pattern,
                                  const GrepOptions& options = {}) {
    const auto found = agent().Grep(path, pattern, options, limits_);
    EXPECT_TRUE(found.ok()) << FileCodeName(found.result.code);
    std::vector<std::string> lines;
    for (const TextLine& line : found.value.lines) {
      lines.push_back(absl::StrCat(line.path, ":", line.line, ":", line.column,
                                   ":", line.text));
    }
    return lines;
  }
};

TEST_F(FileSearchTest, ABarePatternIsAboutNamesAtAnyDepth) {
  MakeTree();
  Start();
  EXPECT_THAT(Find("/", "*.py"),
              UnorderedElementsAre("/top.py", "/src/a.py", "/src/deep/c.py",
                                   "/src/deep/er/d.py"));
  EXPECT_THAT(Find("/src", "?.txt"), ElementsAre("/src/b.txt"));
  EXPECT_THAT(Find("/src/", "[!a-c].py"), ElementsAre("/src/deep/er/d.py"));
  EXPECT_THAT(Find("/", "nothing"), IsEmpty());
}

TEST_F(FileSearchTest, APatternWithASlashIsRelative) {
  MakeTree();
  Start();
  EXPECT_THAT(Find("/", "src/*.py"), ElementsAre("/src/a.py"));
  EXPECT_THAT(Find("/src", "deep/**/*.py"),
              UnorderedElementsAre("/src/deep/c.py", "/src/deep/er/d.py"));
  EXPECT_THAT(Find("/docs", "/src/*.txt"), ElementsAre("/src/b.txt"));
  EXPECT_THAT(Find("/", "./top.py"), ElementsAre("/top.py"));
  EXPECT_THAT(Find("/", "**/er/*"), ElementsAre("/src/deep/er/d.py"));
  EXPECT_THAT(Find("/", "none/*/x"), IsEmpty());
}

TEST_F(FileSearchTest, ExpandsBraces) {
  MakeTree();
  Start();
  EXPECT_THAT(Find("/", "*.{md,txt}"),
              UnorderedElementsAre("/src/b.txt", "/docs/g.md"));
  EXPECT_THAT(Find("/", "{src,docs}/{a,g}.{py,md}"),
              UnorderedElementsAre("/src/a.py", "/docs/g.md"));
  // What overlaps is found once.
  EXPECT_THAT(Find("/", "{*.txt,b.*,src/b.txt}"), ElementsAre("/src/b.txt"));
}

TEST_F(FileSearchTest, FindsDotFilesOnlyWhenAsked) {
  MakeTree();
  Start();
  EXPECT_THAT(Find("/", ".*.py"), ElementsAre("/src/.f.py"));
  EXPECT_THAT(Find("/", ".git/*"), ElementsAre("/.git/config"));
  EXPECT_THAT(Find("/src", "*.py", {.hidden = true}),
              UnorderedElementsAre("/src/a.py", "/src/.f.py", "/src/deep/c.py",
                                   "/src/deep/er/d.py", "/src/.hidden/e.py"));
}

TEST_F(FileSearchTest, FindsOtherKindsOnlyWhenAsked) {
  MakeTree();
  ASSERT_EQ(::symlink("/top.py", At("/docs/link").c_str()), 0);
  ASSERT_EQ(::symlink("/src", At("/docs/out").c_str()), 0);
  Start();
  EXPECT_THAT(Find("/docs", "*"),
              UnorderedElementsAre("/docs/g.md", "/docs/link"));
  EXPECT_THAT(Find("/docs", "*", {.files_only = false}),
              UnorderedElementsAre("/docs/g.md", "/docs/link", "/docs/out"));
  EXPECT_THAT(Find("/", "d*", {.files_only = false}),
              UnorderedElementsAre("/docs", "/src/deep", "/src/deep/er/d.py"));
}

TEST_F(FileSearchTest, BoundsAGlob) {
  for (int i = 0; i < 500; ++i) Put(absl::StrCat("/f", i), "");
  Start();
  const auto few = agent().Glob("/", "*", {.max_matches = 10}, limits_);
  EXPECT_EQ(few.value.entries.size(), 10u);
  EXPECT_TRUE(few.value.truncated);
  const auto all = agent().Glob("/", "*", {.max_matches = 500}, limits_);
  EXPECT_EQ(all.value.entries.size(), 500u);
  EXPECT_FALSE(all.value.truncated);
  const auto seen = agent().Glob("/", "*", {.max_visited = 100}, limits_);
  EXPECT_EQ(seen.value.entries.size(), 100u);
  EXPECT_TRUE(seen.value.truncated);
}

TEST_F(FileSearchTest, RefusesBadPatternsAndPaths) {
  Put("/file", "");
  Start();
  const auto code = [&](const std::string& path, const std::string& pattern) {
    return agent().Glob(path, pattern, {}, limits_).result.code;
  };
  EXPECT_EQ(code("/", ""), FileCode::kInvalidPattern);
  EXPECT_EQ(code("/", "[a"), FileCode::kInvalidPattern);
  EXPECT_EQ(code("/", "../x"), FileCode::kInvalidPattern);
  EXPECT_EQ(code("/", "/"), FileCode::kInvalidPattern);
  std::string many;
  for (int i = 0; i < 12; ++i) many += "{a,b}";
  EXPECT_EQ(code("/", many), FileCode::kInvalidPattern);
  EXPECT_EQ(code("/none", "*"), FileCode::kNotFound);
  EXPECT_EQ(code("/file", "*"), FileCode::kNotDirectory);
  EXPECT_EQ(code("x", "*"), FileCode::kInvalidPath);
}

TEST(ExpandBracesTest, HasEachCombinationInOrder) {
  std::vector<std::string> all;
  EXPECT_TRUE(ExpandBraces("a{b,c{d,e}}f{,g}", 100, all));
  EXPECT_THAT(all,
              ElementsAre("abf", "abfg", "acdf", "acdfg", "acef", "acefg"));
  all.clear();
  EXPECT_TRUE(ExpandBraces("{a}{b", 100, all));
  EXPECT_THAT(all, ElementsAre("{a}{b"));
  all.clear();
  EXPECT_TRUE(ExpandBraces("[{]a,b}{[,}],d[/{e,f]}}", 100, all));
  EXPECT_THAT(all, ElementsAre("[{]a,b}[,}]", "[{]a,b}d[/e", "[{]a,b}d[/f]"));
  all.clear();
  EXPECT_TRUE(ExpandBraces("}{a,b}{", 100, all));
  EXPECT_THAT(all, ElementsAre("}a{", "}b{"));
  all.clear();
  EXPECT_FALSE(ExpandBraces("{a,b}{a,b}{a,b}", 7, all));
}

TEST_F(FileSearchTest, GrepsLiterally) {
  MakeTree();
  Start();
  EXPECT_THAT(Search("/", "needle"),
              UnorderedElementsAre(
                  "/src/a.py:2:5:two needle", "/src/b.txt:1:1:needle needle",
                  "/src/deep/er/d.py:1:1:needle", "/docs/g.md:1:3:# needle"));
  EXPECT_THAT(Search("/", "n.edle"), IsEmpty());
  EXPECT_THAT(Search("/", "NEEDLE"), IsEmpty());
  EXPECT_THAT(Search("/docs", "NEEDLE", {.ignore_case = true}),
              ElementsAre("/docs/g.md:1:3:# needle"));
  EXPECT_THAT(Search("/src/a.py", "three"), ElementsAre("/src/a.py:3:1:three"));
  EXPECT_EQ(Search("/", "needle", {.hidden = true}).size(), 7u);
}

TEST_F(FileSearchTest, GrepsByRegularExpression) {
  Put("/a", "foo(1)\nbar\nfoo(22)\n\xff foo(3)\n");
  Start();
  EXPECT_THAT(Search("/", "foo\\(\\d{2}\\)", {.regex = true}),
              ElementsAre("/a:3:1:foo(22)"));
  EXPECT_THAT(Search("/", "^BAR$", {.regex = true, .ignore_case = true}),
              ElementsAre("/a:2:1:bar"));
  EXPECT_EQ(Search("/", "o\\(", {.regex = true}).size(), 3u);
  EXPECT_EQ(agent().Grep("/", "(", {.regex = true}, limits_).result.code,
            FileCode::kInvalidPattern);
}

// Engines that try one way after another take longer than the universe.
TEST_F(FileSearchTest, NoExpressionTakesLongerThanTheText) {
  Put("/a", std::string(100'000, 'a') + "\n");
  Start();
  const auto found =
      agent().Grep("/", "(a*)*(a*)*(a|aa)+b", {.regex = true}, limits_);
  EXPECT_TRUE(found.ok());
  EXPECT_FALSE(found.value.truncated);
  EXPECT_EQ(found.value.matches, 0u);
}

TEST_F(FileSearchTest, GrepsOnlyWhatIsIncluded) {
  MakeTree();
  Start();
  EXPECT_THAT(Search("/", "needle", {.include = {"*.txt", "*.md"}}),
              UnorderedElementsAre("/src/b.txt:1:1:needle needle",
                                   "/docs/g.md:1:3:# needle"));
  EXPECT_THAT(Search("/", "needle", {.include = {"src/**/*.py"}}),
              UnorderedElementsAre("/src/a.py:2:5:two needle",
                                   "/src/deep/er/d.py:1:1:needle"));
}

TEST_F(FileSearchTest, TellsLinesAroundAMatchOnce) {
  Put("/a", "1\n2\nhit 3\nhit 4\n5\n6\n7\nhit 8\n");
  Start();
  EXPECT_THAT(Search("/", "hit", {.context_before = 1, .context_after = 2}),
              ElementsAre("/a:2:0:2", "/a:3:1:hit 3", "/a:4:1:hit 4",
                          "/a:5:0:5", "/a:6:0:6", "/a:7:0:7", "/a:8:1:hit 8"));
}

TEST_F(FileSearchTest, SkipsWhatIsNoTextAndCutsLongLines) {
  Put("/binary", std::string("needle\0needle\n", 14));
  Put("/long", std::string(10'000, 'x') + "needle" + std::string(10'000, 'y') +
                   "\nneedle\n");
  Put("/huge", std::string(5'000'000, 'z') + "needle\nneedle 2");
  ASSERT_EQ(::mkfifo(At("/fifo").c_str(), 0644), 0);
  Start();
  const auto found =
      agent().Grep("/", "needle", {.max_line_bytes = 100}, limits_);
  ASSERT_TRUE(found.ok());
  EXPECT_FALSE(found.value.truncated);
  ASSERT_EQ(found.value.lines.size(), 4u);
  EXPECT_EQ(found.value.lines[0].path, "/huge");
  EXPECT_EQ(found.value.lines[0].line, 1u);
  EXPECT_EQ(found.value.lines[0].column, 5'000'001u);
  EXPECT_TRUE(found.value.lines[0].cut);
  EXPECT_EQ(found.value.lines[1].line, 2u);
  const TextLine& line = found.value.lines[2];
  EXPECT_EQ(line.column, 10'001u);
  EXPECT_EQ(line.text.size(), 100u);
  EXPECT_NE(line.text.find("needle"), std::string::npos);
  EXPECT_TRUE(line.cut);
  EXPECT_EQ(found.value.lines[3].line, 2u);
  EXPECT_FALSE(found.value.lines[3].cut);
}

// Such a line is searched in pieces, whose ends are none of its own.
TEST_F(FileSearchTest, SearchesLinesOfAnyLength) {
  constexpr size_t kLong = 9'000'000;
  std::string text = "a" + std::string(kLong, 'b') + "c\nshort\n";
  text.append(kLong, 'x');
  absl::StrAppend(&text, "\nlast");
  Put("/f", text);
  Start();
  const auto column = [&](const std::string& pattern,
                          const GrepOptions& options) {
    const auto found = agent().Grep("/f", pattern, options, limits_);
    EXPECT_TRUE(found.ok());
    return found.value.lines.empty() ? 0 : found.value.lines[0].column;
  };
  EXPECT_EQ(column("bc", {}), kLong + 1);
  EXPECT_EQ(column("c$", {.regex = true}), kLong + 2);
  EXPECT_EQ(column("BC", {.ignore_case = true}), kLong + 1);
  for (const char* none : {"^b", "b$", "^(b|c)", "\\bb"}) {
    const auto found = agent().Grep("/f", none, {.regex = true}, limits_);
    EXPECT_EQ(found.value.matches, 0u) << none;
    // An expression may match more than what two pieces share.
    EXPECT_TRUE(found.value.truncated) << none;
  }
  EXPECT_FALSE(agent().Grep("/f", "none", {}, limits_).value.truncated);
  const auto around = agent().Grep(
      "/f", "short", {.context_before = 1, .context_after = 1}, limits_);
  ASSERT_EQ(around.value.lines.size(), 3u);
  EXPECT_EQ(around.value.lines[0].text.substr(0, 2), "ab");
  EXPECT_TRUE(around.value.lines[0].cut);
  EXPECT_EQ(around.value.lines[1].line, 2u);
  EXPECT_EQ(around.value.lines[2].text.substr(0, 2), "xx");
  EXPECT_EQ(column("last", {}), 1u);
}

TEST_F(FileSearchTest, BoundsMatches) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) absl::StrAppend(&text, "line ", i, "\n");
  Put("/a", text);
  Start();
  const auto some = agent().Grep("/", "line", {.max_matches = 7}, limits_);
  EXPECT_EQ(some.value.matches, 7u);
  EXPECT_TRUE(some.value.truncated);
  const auto all = agent().Grep("/", "line", {.max_matches = 20'000}, limits_);
  EXPECT_EQ(all.value.matches, 20'000u);
  EXPECT_FALSE(all.value.truncated);
}

class FileEditTest : public FileSearchTest {
 protected:
  FileAnswer<uint64_t> Edit(const std::string& old_text,
                            const std::string& new_text,
                            Occurrences occurrences) {
    return agent().Edit("/f", old_text, new_text, occurrences, limits_);
  }
};

TEST_F(FileEditTest, ReplacesWhatIsThereOnce) {
  Put("/f", std::string("one\ntwo $x\0\nthree", 17));
  ::chmod(At("/f").c_str(), 0755);
  Start();
  const auto edited =
      Edit(std::string("two $x\0\nth", 10), "2\n", Occurrences::kOne);
  EXPECT_TRUE(edited.ok());
  EXPECT_EQ(edited.value, 1u);
  EXPECT_EQ(Get("/f"), "one\n2\nree");
  struct stat info = {};
  ASSERT_EQ(::stat(At("/f").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
  EXPECT_EQ(NamesIn("/"), 1u);
}

TEST_F(FileEditTest, ReplacesAllWhenTold) {
  Put("/f", "aaaaa");
  Start();
  const auto refused = Edit("aa", "aaa", Occurrences::kOne);
  EXPECT_EQ(refused.result.code, FileCode::kMultiple);
  EXPECT_EQ(refused.value, 2u);
  EXPECT_EQ(Get("/f"), "aaaaa");
  const auto edited = Edit("aa", "aaa", Occurrences::kAll);
  EXPECT_EQ(edited.value, 2u);
  EXPECT_EQ(Get("/f"), "aaaaaaa");
}

// Some clients replace the whole content of a file in this way.
TEST_F(FileEditTest, TextsMayBeLongerThanAMessageToTheJail) {
  const std::string before(3'000'000, 'a'), after(2'000'000, 'b');
  Put("/f", "<" + before + ">");
  Start();
  EXPECT_EQ(Edit(before, after, Occurrences::kOne).value, 1u);
  EXPECT_EQ(Get("/f"), "<" + after + ">");
  EXPECT_EQ(Edit(after, "", Occurrences::kOne).value, 1u);
  EXPECT_EQ(Get("/f"), "<>");
  EXPECT_EQ(Edit("<>", before, Occurrences::kOne).value, 1u);
  EXPECT_EQ(Get("/f"), before);
  EXPECT_EQ(Edit(after, before, Occurrences::kOne).result.code,
            FileCode::kNoMatch);
}

TEST_F(FileEditTest, SaysWhyNothingWasReplaced) {
  Put("/f", "text");
  ASSERT_EQ(::mkdir(At("/d").c_str(), 0755), 0);
  Start();
  EXPECT_EQ(Edit("none", "", Occurrences::kAll).result.code,
            FileCode::kNoMatch);
  EXPECT_EQ(Edit("", "x", Occurrences::kAll).result.code,
            FileCode::kBadRequest);
  const auto code = [&](const std::string& path) {
    return agent().Edit(path, "a", "b", Occurrences::kOne, limits_).result.code;
  };
  EXPECT_EQ(code("/none"), FileCode::kNotFound);
  EXPECT_EQ(code("/d"), FileCode::kIsDirectory);
  EXPECT_EQ(Get("/f"), "text");
}

}  // namespace
}  // namespace sandglass::sandbox
