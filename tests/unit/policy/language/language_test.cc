#include "policy/language/language.h"

#include <functional>
#include <ostream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/policy/language/toy_language.h"

namespace sandglass::policy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

constexpr char kShipped[] = SANDGLASS_SOURCE_DIR "/policy/data/languages";

TEST(ShippedLanguages, PythonAndBashAreFoundByTheirNames) {
  const auto table = LanguageTable::Load(kShipped);
  ASSERT_TRUE(table.ok()) << table.status();
  for (const char* name : {"python", "py", "python3", "Python", "PY"}) {
    ASSERT_NE(table->Find(name), nullptr) << name;
    EXPECT_EQ(table->Find(name)->id, "python");
  }
  for (const char* name : {"bash", "sh", "shell", "SH"}) {
    ASSERT_NE(table->Find(name), nullptr) << name;
    EXPECT_EQ(table->Find(name)->id, "bash");
  }
}

TEST(ShippedLanguages, ThereAreEightLanguages) {
  const auto table = LanguageTable::Load(kShipped);
  ASSERT_TRUE(table.ok()) << table.status();
  std::vector<std::string> ids;
  for (const Language& language : table->languages()) {
    ids.push_back(language.id);
    EXPECT_NE(language.package, "") << language.id;
  }
  EXPECT_THAT(ids, ElementsAre("bash", "cpp", "go", "java", "javascript",
                               "perl", "python", "ruby"));
  for (const char* name : {"c++", "golang", "js", "node", "rb", "pl"}) {
    EXPECT_NE(table->Find(name), nullptr) << name;
  }
  for (const char* id : {"java", "go"}) {
    const Language& language = *table->Find(id);
    Limits limits;
    RaiseTo(language.limits, limits);
    EXPECT_EQ(limits.memory_bytes, uint64_t{512} << 20) << id;
    EXPECT_GT(limits.max_processes, Limits().max_processes) << id;
    EXPECT_TRUE(language.compile.has_value()) << id;
  }
}

// As descriptors 58 and 59, which the least of a profile would not hold.
TEST(ShippedLanguages, KernelsHaveRoomForTheirChannels) {
  const auto table = LanguageTable::Load(kShipped);
  ASSERT_TRUE(table.ok()) << table.status();
  for (const char* id : {"java", "javascript"}) {
    EXPECT_THAT(table->Find(id)->kernel->command, Contains(HasSubstr("59>&3")));
    Limits limits = {.open_files = 16};
    RaiseTo(table->Find(id)->limits, limits);
    EXPECT_GT(limits.open_files, 59u) << id;
  }
}

TEST(ShippedLanguages, RunTheDistributionsInterpreters) {
  const auto table = LanguageTable::Load(kShipped);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(table->Find("python")->run,
              ElementsAre("/usr/bin/python3", "${source}"));
  EXPECT_THAT(table->Find("bash")->run, ElementsAre("/bin/bash", "${source}"));
  EXPECT_FALSE(table->Find("python")->compile.has_value());
}

TEST(ShippedLanguages, EnvThatActsAtStartIsNamedAsSuch) {
  const auto table = LanguageTable::Load(kShipped);
  ASSERT_TRUE(table.ok()) << table.status();
  const Language& python = *table->Find("python");
  EXPECT_THAT(python.start_env, Contains("PYTHONHASHSEED"));
  EXPECT_THAT(python.start_env, Contains("LD_PRELOAD"));
  for (const auto& [name, value] : python.env) {
    EXPECT_THAT(python.start_env, Contains(name));
  }
}

TEST(LanguageTable, UnknownNameFindsNothing) {
  const auto table = LanguageTable::Load(kShipped);
  ASSERT_TRUE(table.ok()) << table.status();
  for (const char* name : {"", "cobol", "pyth", "python ", "py\n"}) {
    EXPECT_EQ(table->Find(name), nullptr) << name;
  }
  EXPECT_EQ(table->Find(std::string_view("py\0", 3)), nullptr);
}

TEST(LanguageTable, AcceptsACompiledLanguage) {
  Language language = Good();
  language.compile = {.command = {"/usr/bin/toyc", "-o", "a.out", "${source}"},
                      .artifacts = {"a.out"}};
  language.run = {"/workspace/a.out"};
  EXPECT_EQ(CreateError({language}), "");
}

struct RuleCase {
  const char* name;
  std::function<void(Language&)> spoil;
  const char* message;
};
void PrintTo(const RuleCase& c, std::ostream* out) { *out << c.name; }

class RefusedLanguage : public ::testing::TestWithParam<RuleCase> {};

TEST_P(RefusedLanguage, IsReportedWithAPointer) {
  ASSERT_EQ(CreateError({Good()}), "");
  Language language = Good();
  GetParam().spoil(language);
  EXPECT_THAT(CreateError({language}), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    LanguageTable, RefusedLanguage,
    ::testing::Values(
        RuleCase{"Id", [](Language& l) { l.id = "C++"; }, "/: the id \"C++\""},
        RuleCase{"EmptyName", [](Language& l) { l.name = ""; },
                 "language toy: /name: is empty"},
        RuleCase{"AliasUpperCase",
                 [](Language& l) {
                   l.aliases = {"a", "B"};
                 },
                 "/aliases/1: aliases match"},
        RuleCase{"AliasEmpty", [](Language& l) { l.aliases = {""}; },
                 "/aliases/0: aliases match"},
        RuleCase{"ExtensionWithoutDot",
                 [](Language& l) { l.extensions = {"toy"}; },
                 "/extensions/0: expected an extension"},
        RuleCase{"ExtensionOnlyDot", [](Language& l) { l.extensions = {"."}; },
                 "/extensions/0: expected an extension"},
        RuleCase{"InterpreterPath",
                 [](Language& l) { l.interpreters = {"/usr/bin/toy"}; },
                 "/interpreters/0: expected a name"},
        RuleCase{"SourceFilePath",
                 [](Language& l) { l.source_file = "../main.toy"; },
                 "/source_file: expected a name"},
        RuleCase{"SourceFileEmpty", [](Language& l) { l.source_file = ""; },
                 "/source_file: expected a name"},
        RuleCase{"NoRun", [](Language& l) { l.run = {}; }, "/run: is empty"},
        RuleCase{"CanaryWithoutCode",
                 [](Language& l) { l.canary = Canary{.output = "42\n"}; },
                 "/canary/code: takes a program of 1 to"},
        RuleCase{"CanaryWithoutOutput",
                 [](Language& l) { l.canary = Canary{.code = "1"}; },
                 "/canary/stdout: takes what the program prints, 1 to 4096"},
        RuleCase{"CanaryWithMuchOutput",
                 [](Language& l) {
                   l.canary =
                       Canary{.code = "1", .output = std::string(4097, 'x')};
                 },
                 "/canary/stdout: takes what"},
        RuleCase{"CanaryWithMuchCode",
                 [](Language& l) {
                   l.canary = Canary{.code = std::string(64 * 1024 + 1, 'x'),
                                     .output = "1"};
                 },
                 "/canary/code: takes a program"},
        RuleCase{"NoVersion", [](Language& l) { l.version = {}; },
                 "/version: is empty"},
        RuleCase{"RelativeRun",
                 [](Language& l) {
                   l.run = {"toy", "${source}"};
                 },
                 "/run/0: \"toy\" is no absolute path"},
        RuleCase{"RunWithoutSource",
                 [](Language& l) { l.run = {"/usr/bin/toy"}; },
                 "/run: no word has \"${source}\""},
        RuleCase{"CompileWithoutSource",
                 [](Language& l) {
                   l.compile = {.command = {"/usr/bin/toyc"},
                                .artifacts = {"a.out"}};
                 },
                 "/compile/command: no word has \"${source}\" or"},
        RuleCase{"UnknownPlaceholder",
                 [](Language& l) { l.run.push_back("x${output}"); },
                 "/run/2: there is no \"${output}\" here"},
        RuleCase{"VersionWithSource",
                 [](Language& l) { l.version.push_back("${source}"); },
                 "/version/2: there is no"},
        RuleCase{"EnvName",
                 [](Language& l) {
                   l.env = {{"1A", "x"}};
                 },
                 "/env/1A: names match"},
        RuleCase{"StartEnvName", [](Language& l) { l.start_env = {"A B"}; },
                 "/start_env/0: names match"},
        RuleCase{"RunUnderAHome",
                 [](Language& l) {
                   l.run[0] =
                       "/home/"
                       "user/.pyenv/bin/python";
                 },
                 "/run/0: is under a user's home"},
        RuleCase{"NeedsUnderRootsHome",
                 [](Language& l) {
                   l.needs = {
                       "/root/"
                       ".nvm/node"};
                 },
                 "/needs/0: is under a user's home"},
        RuleCase{"RelativeNeeds", [](Language& l) { l.needs = {"javac"}; },
                 "/needs/0: \"javac\" is no absolute path"},
        RuleCase{"FileOutside",
                 [](Language& l) {
                   l.files = {{"../x", "y"}};
                 },
                 "/files/../x"},
        RuleCase{"FileIsTheSource",
                 [](Language& l) {
                   l.files = {{"main.toy", "y"}};
                 },
                 "/files/main.toy: is where the program goes"},
        RuleCase{"EmptyCompile",
                 [](Language& l) { l.compile = CompilePhase(); },
                 "/compile/command: is empty"},
        RuleCase{"CompileWithoutArtifacts",
                 [](Language& l) {
                   l.compile = {.command = {"/b", "."}};
                 },
                 "/compile/artifacts: is empty"},
        RuleCase{"ArtifactOutside",
                 [](Language& l) {
                   l.compile = {.command = {"/b", "."}, .artifacts = {"/a"}};
                 },
                 "/compile/artifacts/0: "},
        RuleCase{"CompileEnv",
                 [](Language& l) {
                   l.compile = {.command = {"/b", "."},
                                .artifacts = {"a"},
                                .env = {{"A", "${sources}"}}};
                 },
                 "/compile/env/A: there is no \"${sources}\""},
        RuleCase{"CompileWords",
                 [](Language& l) {
                   l.compile = {.command = {"/b", "."},
                                .artifacts = {"a"},
                                .out_of_memory = {"oom"}};
                 },
                 "/compile/out_of_memory/0: takes at least 8 characters"},
        RuleCase{"CacheReadsElsewhere",
                 [](Language& l) {
                   l.compile = {.command = {"/b", "."},
                                .artifacts = {"a"},
                                .cache = {{.reads = {"/usr/x", "/opt/x"}}}};
                 },
                 "/compile/cache/reads/1: expected a path below /usr"},
        RuleCase{"CacheEmptyText",
                 [](Language& l) {
                   l.compile = {.command = {"/b", "."},
                                .artifacts = {"a"},
                                .cache = {{.not_with_text = {"x", ""}}}};
                 },
                 "/compile/cache/not_with_text/1: is empty"},
        RuleCase{"CacheEmptyEnding",
                 [](Language& l) {
                   l.compile = {.command = {"/b", "."},
                                .artifacts = {"a"},
                                .cache = {{.not_with_files = {""}}}};
                 },
                 "/compile/cache/not_with_files/0: is empty"},
        RuleCase{"ShortWords",
                 [](Language& l) { l.out_of_memory = {"memory"}; },
                 "/out_of_memory/0: takes at least 8 characters"},
        RuleCase{"HeapPercent", [](Language& l) { l.heap_percent = 96; },
                 "/heap_percent: takes 1 to 95"},
        RuleCase{"PreparedOfNothing",
                 [](Language& l) { l.run.push_back("-I${prepared}"); },
                 "/run/2: nothing is prepared"},
        RuleCase{"PrepareNothing",
                 [](Language& l) { l.prepare = Preparation(); },
                 "/prepare/commands: is empty"},
        RuleCase{"PrepareEmptyCommand",
                 [](Language& l) {
                   l.prepare = {.commands = {{"/b"}, {}}, .artifacts = {"a"}};
                 },
                 "/prepare/commands/1: is empty"},
        RuleCase{"PrepareWithSource",
                 [](Language& l) {
                   l.prepare = {.commands = {{"/b", "${source}"}},
                                .artifacts = {"a"}};
                 },
                 "/prepare/commands/0/1: there is no \"${source}\""},
        RuleCase{"PrepareWithoutArtifacts",
                 [](Language& l) { l.prepare = {.commands = {{"/b"}}}; },
                 "/prepare/artifacts: is empty"}),
    [](const auto& test) { return test.param.name; });

TEST(LanguageTable, ANameMayStandForOneLanguageOnly) {
  Language other = Good();
  other.id = "other";
  other.aliases = {"toy"};
  other.extensions = {".other", ".toy"};
  other.interpreters = {"toyc"};
  EXPECT_EQ(CreateError({Good(), other}),
            "language other: /aliases/0: \"toy\" already stands for toy\n"
            "language other: /extensions/1: \".toy\" already stands for toy\n"
            "language other: /interpreters/0: \"toyc\" already stands for toy");
}

TEST(LanguageTable, AnAliasThatRepeatsItsOwnIdIsRefused) {
  Language language = Good();
  language.aliases = {"toy"};
  EXPECT_THAT(CreateError({language}), HasSubstr("already stands for toy"));
}

// Loads one file's text as the language "toy".
absl::StatusOr<LanguageTable> LoadText(std::string_view text) {
  const sandglass::testing::TempDir directory;
  sandglass::testing::WriteFile(directory.Path("toy.json"), std::string(text));
  return LanguageTable::Load(directory.path());
}

TEST(LanguageTableLoad, ReadsEveryKey) {
  const auto table = LoadText(R"json({"name": "Toy", "aliases": ["t"],
    "extensions": [".toy"], "interpreters": ["toyc"], "source_file": "m.toy",
    "compile": {"command": ["/bin/c", "${source}"], "artifacts": ["a"],
                "starter": ["/bin/s"]},
    "run": ["/workspace/a"], "version": ["/bin/c", "-V"], "env": {"A": "1"}, "package": "toy-lang",
    "canary": {"code": "print(6*7)", "stdout": "42\n"},
    "start_env": ["TOY"]})json");
  ASSERT_TRUE(table.ok()) << table.status();
  const Language* toy = table->Find("T");
  ASSERT_NE(toy, nullptr);
  EXPECT_EQ(toy->id, "toy");
  EXPECT_EQ(toy->name, "Toy");
  EXPECT_THAT(toy->extensions, ElementsAre(".toy"));
  EXPECT_THAT(toy->interpreters, ElementsAre("toyc"));
  EXPECT_EQ(toy->source_file, "m.toy");
  EXPECT_THAT(toy->compile->command, ElementsAre("/bin/c", "${source}"));
  EXPECT_THAT(toy->compile->starter, ElementsAre("/bin/s"));
  EXPECT_THAT(toy->run, ElementsAre("/workspace/a"));
  EXPECT_THAT(toy->version, ElementsAre("/bin/c", "-V"));
  EXPECT_THAT(toy->env, ElementsAre(Pair("A", "1")));
  EXPECT_EQ(toy->package, "toy-lang");
  EXPECT_THAT(toy->start_env, ElementsAre("TOY"));
  ASSERT_TRUE(toy->canary.has_value());
  EXPECT_EQ(toy->canary->code, "print(6*7)");
  EXPECT_EQ(toy->canary->output, "42\n");
}

TEST(LanguageTableLoad, ReadsKindsOfZygotes) {
  const auto table = LoadText(R"({"name": "Python", "source_file": "m.toy",
    "run": ["/bin/p", "${source}"], "version": ["/bin/p"],
    "zygote": {"command": ["/bin/p"], "library": "p.so", "script": [], "kinds": [
      {"name": "plain"},
      {"name": "big", "preload": ["a", "b.c"], "serves": ["a"],
       "needs": ["/usr/lib/a"], "idle_memory": "16MiB"}]}})");
  ASSERT_TRUE(table.ok()) << table.status();
  const std::vector<ZygoteKind>& kinds = table->Find("toy")->zygote->kinds;
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].idle_memory_bytes, uint64_t{4} << 20);
  EXPECT_THAT(kinds[0].needs, ElementsAre());
  EXPECT_THAT(kinds[1].preload, ElementsAre("a", "b.c"));
  EXPECT_THAT(kinds[1].serves, ElementsAre("a"));
  EXPECT_THAT(kinds[1].needs, ElementsAre("/usr/lib/a"));
  EXPECT_EQ(kinds[1].idle_memory_bytes, uint64_t{16} << 20);
}

TEST(LanguageTableLoad, NothingIsKeptUnlessTheFileSaysSo) {
  const auto load = [](const std::string& cache) {
    const auto table = LoadText(R"({"name": "Toy", "source_file": "m.toy",
      "compile": {"command": ["/bin/c", "${source}"], "artifacts": ["a"])" +
                                cache + R"(},
      "run": ["/workspace/a"], "version": ["/bin/c"]})");
    EXPECT_TRUE(table.ok()) << table.status();
    return table->Find("toy")->compile->cache;
  };
  EXPECT_EQ(load(""), std::nullopt);
  EXPECT_EQ(load(R"(, "cache": {})"), CompileCacheRules());
  EXPECT_EQ(load(R"(, "cache": {"reads": ["/usr/local/x/**"],
                                "not_with_text": ["t"],
                                "not_with_files": [".f"]})"),
            (CompileCacheRules{{"/usr/local/x/**"}, {"t"}, {".f"}}));
  EXPECT_FALSE(LoadText(R"({"name": "Toy", "source_file": "m.toy",
      "compile": {"command": ["/bin/c", "${source}"], "artifacts": ["a"],
                  "cache": {"raeds": []}},
      "run": ["/workspace/a"], "version": ["/bin/c"]})")
                   .ok());
}

TEST(LanguageTableLoad, APreparationHasTenMinutesUnlessItSaysOtherwise) {
  const auto table = LoadText(R"({"name": "Toy", "source_file": "m.toy",
    "run": ["/bin/c", "${source}", "${prepared}"], "version": ["/bin/c", "-V"],
    "prepare": {"commands": [["/bin/c"]], "artifacts": ["a"],
                "limits": {"memory_bytes": "1GiB", "wall_time": "20m"}}})");
  ASSERT_TRUE(table.ok()) << table.status();
  Limits limits;
  RaiseTo(table->Find("toy")->prepare->limits, limits);
  EXPECT_EQ(limits.memory_bytes, uint64_t{1} << 30);
  EXPECT_EQ(limits.wall_time, absl::Minutes(20));
  EXPECT_EQ(limits.cpu_time, absl::Minutes(10));
}

struct FileCase {
  const char* name;
  const char* text;
  const char* message;
};
void PrintTo(const FileCase& c, std::ostream* out) { *out << c.name; }

class RefusedLanguageFile : public ::testing::TestWithParam<FileCase> {};

TEST_P(RefusedLanguageFile, IsReportedWithFileAndPointer) {
  const auto table = LoadText(GetParam().text);
  EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(table.status().message()),
              HasSubstr(std::string("/toy.json: ") + GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    LanguageTable, RefusedLanguageFile,
    ::testing::Values(
        FileCase{"Syntax", "{,}", "parse error at line 1, column 2"},
        FileCase{
            "CanaryWithoutStdout",
            R"({"name": "T", "source_file": "m", "run": ["/b", "${source}"],
                     "version": ["/b"], "canary": {"code": "1"}})",
            "/canary/stdout: missing"},
        FileCase{
            "CanaryIsNoObject",
            R"({"name": "T", "source_file": "m", "run": ["/b", "${source}"],
                     "version": ["/b"], "canary": "1"})",
            "/canary: "},
        FileCase{"MissingKey", R"({"name": "T"})",
                 "/source_file: missing; it is required"},
        FileCase{
            "UnknownKey",
            R"({"name": "T", "source_file": "m", "run": ["/b", "${source}"],
                    "version": ["/b"], "alias": ["t"]})",
            "/alias: unknown key; did you mean \"aliases\"?"},
        FileCase{"WrongType",
                 R"({"name": "T", "source_file": "m", "run": "/b ${source}",
                    "version": ["/b"]})",
                 "/run: expected a list of strings"},
        FileCase{"Duplicate", R"({"name": "T", "name": "U"})",
                 "/name: the key is given twice"},
        FileCase{"CompileIsAList",
                 R"({"name": "T", "source_file": "m", "run": ["/b"],
                    "version": ["/b"], "compile": ["/b", "${source}"]})",
                 "/compile: expected an object"},
        FileCase{"UnknownCompileKey",
                 R"({"name": "T", "source_file": "m", "run": ["/b"],
                    "version": ["/b"], "compile": {"command": ["/b", "."],
                    "artifacts": ["a"], "limit": {}}})",
                 "/compile/limit: unknown key; did you mean \"limits\"?"},
        FileCase{
            "UnknownLimit",
            R"({"name": "T", "source_file": "m", "run": ["/b", "${source}"],
                    "version": ["/b"], "limits": {"memory": "1GiB"}})",
            "/limits/memory: unknown key"},
        FileCase{
            "LimitOutOfRange",
            R"({"name": "T", "source_file": "m", "run": ["/b", "${source}"],
                    "version": ["/b"], "limits": {"memory_bytes": "1KiB"}})",
            "/limits/memory_bytes: "},
        FileCase{
            "HeapPercentRange",
            R"({"name": "T", "source_file": "m", "run": ["/b", "${source}"],
                    "version": ["/b"], "heap_percent": 0})",
            "/heap_percent: "},
        FileCase{
            "CommandsOfStrings",
            R"({"name": "T", "source_file": "m", "run": ["/b", "${source}"],
                    "version": ["/b"], "prepare": {"commands": ["/b"],
                    "artifacts": ["a"]}})",
            "/prepare/commands/0: expected a list of strings"},
        FileCase{
            "CompanionIsNotThere",
            R"({"name": "T", "source_file": "m", "run": ["/b", "${source}"],
                    "version": ["/b"], "prepare": {"commands": [["/b"]],
                    "artifacts": ["a"], "files": {"x.sh": "toy/x.sh"}}})",
            "/prepare/files/x.sh: can't read \"toy/x.sh\""},
        FileCase{
            "CompanionOutside",
            R"({"name": "T", "source_file": "m", "run": ["/b", "${source}"],
                    "version": ["/b"], "prepare": {"commands": [["/b"]],
                    "artifacts": ["a"], "files": {"x": "../../etc/passwd"}}})",
            "/prepare/files/x: "},
        FileCase{"BadValue",
                 R"({"name": "T", "source_file": "a/b",
                    "run": ["/b", "${source}"], "version": ["/b"]})",
                 "/source_file: expected a name"}),
    [](const auto& test) { return test.param.name; });

TEST(LanguageTableLoad, MissingDirectoryIsNotFound) {
  EXPECT_EQ(LanguageTable::Load("/no/such").status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace sandglass::policy
