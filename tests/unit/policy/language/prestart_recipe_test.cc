#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/language/language.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/policy/language/toy_language.h"

namespace sandglass::policy {
namespace {

using ::testing::HasSubstr;

constexpr char kShipped[] = SANDGLASS_SOURCE_DIR "/policy/data/languages";

Language WithPrestart() {
  Language language = Good();
  language.prestart =
      PrestartRecipe{.command = {"/usr/bin/toy", "--wait", "-m${heap_mib}"},
                     .arguments = {"${source}"},
                     .idle_bytes = 1};
  return language;
}

TEST(Prestart, ARecipeIsReadWithItsDefaults) {
  EXPECT_EQ(CreateError({WithPrestart()}), "");
  const auto table = LanguageTable::Load(kShipped);
  ASSERT_TRUE(table.ok()) << table.status();
  const Language& java = *table->Find("java");
  ASSERT_TRUE(java.prestart && java.compile->prestart);
  EXPECT_TRUE(java.prestart->fixed_env);
  EXPECT_EQ(java.prestart->floor, 1u);
  EXPECT_EQ(java.prestart->ceiling, 1u);
  EXPECT_FALSE(java.prestart->from_start);
  EXPECT_FALSE(java.prestart->tells_end);
  EXPECT_TRUE(table->Find("javascript")->prestart->tells_end);
  EXPECT_FALSE(java.compile->prestart->fixed_env);
  EXPECT_TRUE(table->Find("javascript")->prestart->from_start);
  EXPECT_TRUE(table->Find("javascript")->analyser->prestart->tells_end);
  EXPECT_FALSE(table->Find("python")->analyser->prestart.has_value());
  EXPECT_FALSE(table->Find("bash")->prestart.has_value());
}

TEST(Prestart, ImpossibleRecipesAreRefused) {
  const auto error = [](const std::function<void(Language&)>& change) {
    Language language = WithPrestart();
    change(language);
    return CreateError({language});
  };
  EXPECT_THAT(error([](Language& l) { l.prestart->command.clear(); }),
              HasSubstr("/prestart/command: is empty"));
  EXPECT_THAT(
      error([](Language& l) { l.prestart->command[0] = "/usr/bin/other"; }),
      HasSubstr("/prestart/command/0: has to be the executable"));
  EXPECT_THAT(
      error([](Language& l) { l.prestart->command.push_back("${source}"); }),
      HasSubstr("/prestart/command/3: there is no \"${source}\" here"));
  EXPECT_THAT(
      error([](Language& l) { l.prestart->arguments = {"${prepared}/x"}; }),
      HasSubstr("/prestart/arguments/0: nothing is prepared"));
  EXPECT_THAT(error([](Language& l) {
                l.zygote = ZygoteRecipe{.command = {"/usr/bin/toy"},
                                        .script = "x",
                                        .kinds = {{.name = "lean"}}};
              }),
              HasSubstr("/prestart: a language has either"));
  EXPECT_THAT(error([](Language& l) {
                l.compile = CompilePhase{.command = {"/usr/bin/toy", "."},
                                         .artifacts = {"a"},
                                         .prestart = l.prestart};
                l.compile->prestart->command[0] = "toy";
              }),
              HasSubstr("/compile/prestart/command/0"));
  EXPECT_THAT(error([](Language& l) {
                l.compile = CompilePhase{.command = {"/usr/bin/toy", "."},
                                         .artifacts = {"a"},
                                         .prestart = l.prestart};
                l.compile->prestart->tells_end = true;
              }),
              HasSubstr("/compile/prestart/tells_end: is of no use"));
}

TEST(Prestart, AnAnalysersRecipeIsChecked) {
  const auto error = [](const std::function<void(AnalyserRecipe&)>& change) {
    Language language = Good();
    language.analyser = AnalyserRecipe{
        .command = {"/usr/bin/look", "${sources}"},
        .prestart = PrestartRecipe{.command = {"/usr/bin/look", "--wait"},
                                   .arguments = {"${sources}"},
                                   .tells_end = true,
                                   .idle_bytes = 1}};
    change(*language.analyser);
    return CreateError({language});
  };
  EXPECT_EQ(error([](AnalyserRecipe&) {}), "");
  EXPECT_THAT(
      error([](AnalyserRecipe& a) { a.prestart->command[0] = "/usr/bin/toy"; }),
      HasSubstr("/analyser/prestart/command/0: has to be the executable"));
  EXPECT_THAT(error([](AnalyserRecipe& a) { a.prestart->arguments = {"x"}; }),
              HasSubstr("/analyser/prestart/arguments: no word has"));
  EXPECT_THAT(error([](AnalyserRecipe& a) { a.prestart->fixed_env = true; }),
              HasSubstr("/analyser/prestart/fixed_env: is of no use"));
  Language compiled = Good();
  compiled.compile =
      CompilePhase{.command = {"/usr/bin/toy", "."}, .artifacts = {"a"}};
  compiled.analyser = AnalyserRecipe{
      .compile_arguments = {"--facts", "f"},
      .facts = "f",
      .prestart = PrestartRecipe{.command = {"/usr/bin/toy"}, .idle_bytes = 1}};
  EXPECT_THAT(CreateError({compiled}),
              HasSubstr("/analyser/prestart: is the compiler's"));
}

TEST(Prestart, AFileWithMistakesIsRefused) {
  const sandglass::testing::TempDir directory;
  const auto error = [&](const std::string& prestart) {
    sandglass::testing::WriteFile(
        directory.Path("toy.json"),
        R"({"name": "Toy", "source_file": "m", "run": ["/t", "${source}"],
                        "version": ["/t"], "prestart": )" +
            prestart + "}");
    return std::string(
        LanguageTable::Load(directory.path()).status().message());
  };
  EXPECT_EQ(error(R"({"command": ["/t"], "idle_memory": "1MiB"})"), "");
  EXPECT_THAT(error(R"({"command": ["/t"]})"), HasSubstr("idle_memory"));
  EXPECT_THAT(error(R"({"command": ["/t"], "idle_memory": 0})"),
              HasSubstr("/prestart/idle_memory"));
  EXPECT_THAT(error(R"({"command": ["/t"], "idle_memory": 1, "floor": 0})"),
              HasSubstr("/prestart/floor"));
  EXPECT_THAT(
      error(
          R"({"command": ["/t"], "idle_memory": 1, "floor": 3, "ceiling": 2})"),
      HasSubstr("/prestart/ceiling"));
  EXPECT_THAT(error(R"({"command": ["/t"], "idle_memory": 1, "flor": 1})"),
              HasSubstr("/prestart/flor"));
}

// They are what starts the compiler, for any program.
TEST(CompileStarter, MayNotNameTheProgram) {
  Language language = Good();
  language.compile = CompilePhase{};
  language.compile->command = {"/usr/bin/toyc", "${source}"};
  language.compile->starter = {"/bin/sh", "-c", "exec \"$@\"", "compile"};
  language.compile->artifacts = {"main"};
  EXPECT_EQ(CreateError({language}), "");
  language.compile->starter[3] = "${source}";
  EXPECT_THAT(CreateError({language}), HasSubstr("/compile/starter/3"));
}

}  // namespace
}  // namespace sandglass::policy
