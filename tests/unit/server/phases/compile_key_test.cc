#include "server/phases/compile_key.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "policy/limits/limit_fields.h"
#include "server/base/digest.h"
#include "server/images/toolchain.h"
#include "server/job/job_builder.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;

Job KeptJob() {
  Job job;
  job.source_file = "main.toy";
  job.code = "code";
  job.argv = {"/workspace/main"};
  job.files = {{.path = "a", .content = "bc"}, {.path = "d", .content = "e"}};
  job.compile.emplace();
  job.compile->argv = {"/usr/bin/toyc", "main.toy"};
  job.compile->env = {{"A", "1"}};
  job.compile->artifacts = {"main"};
  job.compile->caching = CompileCaching{
      .language = "toy",
      .scope = "profile default",
      .rules = {.not_with_text = {"__TIME__"}, .not_with_files = {".gch"}}};
  return job;
}

TEST(CompileKey, IsTheSameForTheSame) {
  const std::string key = CompileKey(KeptJob(), "t");
  EXPECT_THAT(key, ::testing::MatchesRegex("[0-9a-f]{64}"));
  EXPECT_EQ(CompileKey(KeptJob(), "t"), key);
}

// Whatever the compiler's jail is given makes another key, and none of them the
// key of another change.
TEST(CompileKey, EveryInputChangesIt) {
  const std::vector<std::function<void(Job&)>> changes = {
      [](Job& job) { job.code = "codf"; },
      [](Job& job) { job.code += std::string(1, '\0'); },
      [](Job& job) { job.code.clear(); },
      [](Job& job) { job.source_file = "main.tox"; },
      [](Job& job) { job.files[0].content = "bd"; },
      [](Job& job) { job.files[0].path = "b"; },
      [](Job& job) { job.files[0].executable = true; },
      [](Job& job) { job.files.pop_back(); },
      [](Job& job) { job.files.push_back({.path = "f"}); },
      [](Job& job) { std::swap(job.files[0], job.files[1]); },
      // The same characters, cut elsewhere.
      [](Job& job) { job.files[0] = {.path = "ab", .content = "c"}; },
      [](Job& job) { job.files = {{.path = "a", .content = "bc-1:d-1:e"}}; },
      [](Job& job) {
        job.source_file = "main.to";
        job.code = "ycode";
      },
      [](Job& job) { job.compile->argv = {"/usr/bin/toyc main.toy"}; },
      [](Job& job) { job.compile->argv.push_back(""); },
      [](Job& job) { job.compile->argv[1] = "main.toz"; },
      [](Job& job) { job.compile->env[0].second = "2"; },
      [](Job& job) {
        job.compile->env[0] = {"A1", ""};
      },
      [](Job& job) { job.compile->env.clear(); },
      [](Job& job) { job.compile->env.emplace_back("B", ""); },
      [](Job& job) {
        job.compile->artifacts = {"main", "main"};
      },
      [](Job& job) { job.compile->artifacts = {"mai?"}; },
      [](Job& job) { job.compile->caching->language = "toz"; },
      [](Job& job) { job.compile->caching->scope = "profile other"; },
      [](Job& job) { job.compile->caching->scope = "shared"; },
  };
  std::set<std::string> keys = {CompileKey(KeptJob(), "t"),
                                CompileKey(KeptJob(), "u")};
  ASSERT_EQ(keys.size(), 2u);
  for (size_t i = 0; i < changes.size(); ++i) {
    Job job = KeptJob();
    changes[i](job);
    EXPECT_TRUE(keys.insert(CompileKey(job, "t")).second) << "change " << i;
  }
}

TEST(CompileKey, LimitsButThoseOfTimeChangeIt) {
  const std::string key = CompileKey(KeptJob(), "t");
  std::set<std::string> keys = {key};
  for (const policy::LimitField& field : policy::kLimitFields) {
    Job job = KeptJob();
    field.set(job.compile->limits, field.get(job.compile->limits) / 2);
    const bool time = field.kind == policy::LimitKind::kWallTime ||
                      field.kind == policy::LimitKind::kCpuTime;
    EXPECT_EQ(keys.insert(CompileKey(job, "t")).second, !time)
        << policy::LimitName(field.kind);
  }
}

// What is for the program alone makes no difference to its compiler.
TEST(CompileKey, TheRunsOwnDoesNotChangeIt) {
  const std::string key = CompileKey(KeptJob(), "t");
  Job job = KeptJob();
  job.run_id = "run-2";
  job.stdin_data = "input";
  job.argv.push_back("argument");
  job.env = {{"X", "y"}};
  job.fetch = {"out"};
  job.limits.memory_bytes /= 2;
  EXPECT_EQ(CompileKey(job, "t"), key);
}

TEST(MayKeepCompile, RefusesResultsThatDependOnMore) {
  EXPECT_TRUE(MayKeepCompile(KeptJob()));
  Job job = KeptJob();
  job.compile->caching.reset();
  EXPECT_FALSE(MayKeepCompile(job));
  job = KeptJob();
  job.compile.reset();
  EXPECT_FALSE(MayKeepCompile(job));
  job = KeptJob();
  job.code = std::string("a\0__TIME__", 10);
  EXPECT_FALSE(MayKeepCompile(job));
  job = KeptJob();
  job.files[1].content = "x __TIME__";
  EXPECT_FALSE(MayKeepCompile(job));
  job = KeptJob();
  job.files[1].path = "sub/x.h.gch";
  EXPECT_FALSE(MayKeepCompile(job));
  job = KeptJob();
  job.files[1].path = "sub.gch/x.h";
  job.code = "__TIME";
  EXPECT_TRUE(MayKeepCompile(job));
}

// The shipped languages: what they keep, and in whose name.
class Caching : public ::testing::Test {
 protected:
  static Job Make(const std::string& language, policy::CompileSharing sharing,
                  const std::string& code = "x") {
    static const auto& table =
        *new absl::StatusOr<policy::LanguageTable>(policy::LanguageTable::Load(
            SANDGLASS_SOURCE_DIR "/policy/data/languages"));
    EXPECT_TRUE(table.ok()) << table.status();
    const auto profile = std::make_shared<const policy::Profile>(
        policy::Profile{.name = "mine", .compile_cache = sharing});
    v1::RunCodeRequest request;
    request.set_code(code);
    return MakeJob(*table->Find(language), profile, {}, std::move(request));
  }
};

TEST_F(Caching, FollowsTheProfile) {
  for (const char* language : {"cpp", "go", "java"}) {
    const Job off = Make(language, policy::CompileSharing::kOff);
    EXPECT_FALSE(off.compile->caching.has_value()) << language;
    const Job own = Make(language, policy::CompileSharing::kOwn);
    ASSERT_TRUE(own.compile->caching.has_value()) << language;
    EXPECT_EQ(own.compile->caching->scope, "profile mine");
    EXPECT_EQ(own.compile->caching->language, language);
    EXPECT_THAT(own.compile->caching->executables,
                ::testing::Contains(own.compile->argv.front()));
    EXPECT_EQ(
        Make(language, policy::CompileSharing::kShared).compile->caching->scope,
        "shared");
  }
}

TEST_F(Caching, WhatDependsOnMoreThanItsFilesIsNotKept) {
  for (const auto& [language, code] : {
           std::pair("cpp", "const char* t = __DATE__;"),
           std::pair("cpp", "const char* t = __TIME__;"),
           std::pair("cpp", "const char* t = __TIMESTAMP__;"),
           std::pair("cpp", "#include \"/proc/self/status\""),
           std::pair("cpp", "#include \"../proc/uptime\""),
           std::pair("cpp", "#include </usr/local/share/x.h>"),
           std::pair("cpp", "asm(\".incbin \\\"main.cpp\\\"\");"),
           std::pair("go", "import \"C\""),
           std::pair("go", "import `C`"),
       }) {
    EXPECT_FALSE(
        MayKeepCompile(Make(language, policy::CompileSharing::kOwn, code)))
        << code;
  }
  EXPECT_TRUE(MayKeepCompile(Make("cpp", policy::CompileSharing::kOwn,
                                  "#include <ctime>\nconst char* f = "
                                  "__FILE__;")));
}

class ToolchainTest : public ::testing::Test {
 protected:
  ToolchainTest() {
    testing::WriteFile(dir_.Path("status"), "Package: gcc\n");
    fs::create_directory(dir_.Path("updates"));
    testing::WriteFile(dir_.Path("gcc-12"), "binary");
    fs::create_symlink("gcc-12", dir_.Path("gcc"));
    fs::create_directories(dir_.Path("include/sub/deep"));
    testing::WriteFile(dir_.Path("include/sub/deep/x.h"), "1");
    fs::create_directories(dir_.Path("lib/sub"));
  }
  Toolchain Make(const std::string& image = "image") const {
    return Toolchain(image, {.status = dir_.Path("status"),
                             .journal = dir_.Path("updates")});
  }
  std::optional<std::string> Identity(const Toolchain& toolchain) const {
    return toolchain.Identity({dir_.Path("gcc")},
                              {dir_.Path("include/**"), dir_.Path("lib")});
  }
  const testing::TempDir dir_;
};

TEST_F(ToolchainTest, EveryPartChangesIt) {
  const Toolchain toolchain = Make();
  std::set<std::string> seen;
  const auto expect_new = [&](const char* what) {
    const auto identity = Identity(toolchain);
    ASSERT_TRUE(identity.has_value()) << what;
    EXPECT_TRUE(seen.insert(*identity).second) << what;
    // Nor does it change by itself, or with the daemon.
    EXPECT_EQ(Identity(toolchain), identity) << what;
    EXPECT_EQ(Identity(Make()), identity) << what;
  };
  expect_new("first");
  EXPECT_NE(Identity(Make("another image")), Identity(toolchain));
  // As dpkg does it: another file under the name, of the same size.
  testing::WriteFile(dir_.Path("status-new"), "Package: gdb\n");
  fs::rename(dir_.Path("status-new"), dir_.Path("status"));
  expect_new("package");
  testing::WriteFile(dir_.Path("updates/0001"), "x");
  expect_new("an upgrade that has begun");
  // Same size, and the time set back.
  const auto before = fs::last_write_time(dir_.Path("gcc-12"));
  testing::WriteFile(dir_.Path("gcc-12"), "BINARY");
  fs::last_write_time(dir_.Path("gcc-12"), before);
  expect_new("compiler");
  testing::WriteFile(dir_.Path("gcc-13"), "binary");
  fs::remove(dir_.Path("gcc"));
  fs::create_symlink("gcc-13", dir_.Path("gcc"));
  expect_new("alternative");
  testing::WriteFile(dir_.Path("include/sub/deep/x.h"), "2");
  expect_new("header");
  testing::WriteFile(dir_.Path("include/sub/y.h"), "");
  expect_new("further header");
  testing::WriteFile(dir_.Path("lib/libx.so"), "");
  expect_new("library");
}

TEST_F(ToolchainTest, LooksNoDeeperThanAsked) {
  const Toolchain toolchain = Make();
  const auto identity = Identity(toolchain);
  testing::WriteFile(dir_.Path("lib/sub/a"), "");
  // The subdirectory's own time is in it, so what is made there shows; what is
  // changed there doesn't.
  const auto with_file = Identity(toolchain);
  EXPECT_NE(with_file, identity);
  testing::WriteFile(dir_.Path("lib/sub/a"), "changed");
  EXPECT_EQ(Identity(toolchain), with_file);
}

TEST_F(ToolchainTest, IsUnknownRatherThanWrong) {
  const Toolchain toolchain = Make();
  EXPECT_EQ(toolchain.Identity({dir_.Path("none")}, {}), std::nullopt);
  // What isn't there may come.
  const auto without = toolchain.Identity({}, {dir_.Path("opt")});
  ASSERT_TRUE(without.has_value());
  testing::WriteFile(dir_.Path("opt"), "");
  EXPECT_NE(toolchain.Identity({}, {dir_.Path("opt")}), without);
  // A link that leads in a circle ends.
  fs::create_directory_symlink("..", dir_.Path("include/up"));
  EXPECT_EQ(StateOf({dir_.Path("include/**")}, 20), std::nullopt);
  fs::remove(dir_.Path("status"));
  EXPECT_EQ(Identity(toolchain), std::nullopt);
}

TEST(Digest, IsSha256AndUnambiguous) {
  // FIPS 180-2, appendix B.1.
  EXPECT_EQ(Sha256("abc"),
            std::string("\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d"
                        "\xae\x22\x23\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10"
                        "\xff\x61\xf2\x00\x15\xad",
                        32));
  Digest one;
  one.Add("ab");
  one.Add("c");
  Digest two;
  two.Add("a");
  two.Add("bc");
  EXPECT_NE(one.Hex(), two.Hex());
  Digest list;
  list.AddAll({"a"});
  list.AddAll({});
  Digest other;
  other.AddAll({});
  other.AddAll({"a"});
  EXPECT_NE(list.Hex(), other.Hex());
}

}  // namespace
}  // namespace sandglass::server
