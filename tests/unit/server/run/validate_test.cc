#include "server/run/validate.h"

#include <functional>

#include "absl/strings/cord.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ValidateTest : public ::testing::Test {
 protected:
  // "field: description" of every violation.
  std::vector<std::string> Violations(v1::RunCodeRequest request,
                                      const std::string& prefix = "") {
    const auto valid = ValidateRunCode(policy_, std::move(request), prefix);
    if (valid.ok()) return {};
    EXPECT_EQ(valid.status().code(), absl::StatusCode::kInvalidArgument);
    google::rpc::BadRequest bad;
    const auto payload =
        valid.status().GetPayload("type.googleapis.com/google.rpc.BadRequest");
    EXPECT_TRUE(payload.has_value());
    EXPECT_TRUE(bad.ParseFromString(std::string(*payload)));
    std::vector<std::string> violations;
    for (const auto& v : bad.field_violations()) {
      violations.push_back(v.field() + ": " + v.description());
    }
    return violations;
  }
  std::vector<std::string> Changed(
      const std::function<void(v1::RunCodeRequest&)>& change) {
    v1::RunCodeRequest request = GoodRequest();
    change(request);
    return Violations(request);
  }

  const PolicySet policy_ = TestPolicy();
};

TEST_F(ValidateTest, FillsAJobWithEveryDefault) {
  v1::RunCodeRequest request = GoodRequest("echo $1");
  request.set_language("SH");
  request.add_args("one");
  request.set_stdin("input");
  request.add_fetch("out/*.txt");
  v1::InputFile& file = *request.add_files();
  file.set_path("data/in.txt");
  file.set_content("x");
  file.set_executable(true);
  (*request.mutable_env())["LANG"] = "de_DE.UTF-8";
  const auto valid = ValidateRunCode(policy_, std::move(request));
  ASSERT_TRUE(valid.ok()) << valid.status();
  const Job& job = valid->job;
  EXPECT_EQ(valid->language->id, "bash");
  EXPECT_EQ(job.template_name, "default");
  EXPECT_EQ(job.source_file, "main.sh");
  EXPECT_EQ(job.code, "echo $1");
  EXPECT_THAT(job.argv, ElementsAre("/bin/sh", "main.sh", "one"));
  EXPECT_EQ(job.stdin_data, "input");
  EXPECT_THAT(job.fetch, ElementsAre("out/*.txt"));
  ASSERT_EQ(job.files.size(), 1u);
  EXPECT_EQ(job.files[0].path, "data/in.txt");
  EXPECT_TRUE(job.files[0].executable);
  EXPECT_EQ(job.limits, policy_.FindProfile("")->limits);
  // Base, language, profile, request: the later wins.
  EXPECT_THAT(job.env, Contains(Pair("HOME", "/home/sandbox")));
  EXPECT_THAT(job.env, Contains(Pair("BASH_ENV_LAYER", "language")));
  EXPECT_THAT(job.env, Contains(Pair("LANG", "de_DE.UTF-8")));
  EXPECT_THAT(job.env, Contains(Pair("TMPDIR", "/tmp")));
}

TEST_F(ValidateTest, ReportsEverythingAtOnceUnderThePrefix) {
  v1::RunCodeRequest request;
  request.set_language("bsh");
  request.set_profile("defualt");
  request.add_files()->set_path("../x");
  EXPECT_THAT(Violations(request, "run."),
              ElementsAre(HasSubstr("run.language: \"bsh\" is not known; did "
                                    "you mean \"bash\"?"),
                          HasSubstr("run.profile: \"defualt\""),
                          HasSubstr("run.code: is empty"),
                          HasSubstr("run.files[0].path: ")));
}

TEST_F(ValidateTest, RefusesBadCode) {
  EXPECT_THAT(Changed([](auto& r) { r.set_code(std::string("a\0b", 3)); }),
              ElementsAre("code: has a NUL byte at offset 1"));
  EXPECT_THAT(
      Changed([](auto& r) { r.set_code(std::string(kMaxCodeBytes + 1, 'x')); }),
      ElementsAre(HasSubstr("code: has 1048577 bytes; at most 1048576")));
  EXPECT_THAT(
      Changed([](auto& r) { r.set_code(std::string(kMaxCodeBytes, 'x')); }),
      ElementsAre());
}

TEST_F(ValidateTest, RefusesALanguageThatTheProfileExcludes) {
  EXPECT_THAT(Changed([](auto& r) { r.set_profile("narrow"); }),
              ElementsAre(HasSubstr("language: profile narrow does not allow "
                                    "bash; it allows: absent")));
}

TEST_F(ValidateTest, RefusesBadArguments) {
  EXPECT_THAT(Changed([](auto& r) {
                r.add_args("fine");
                r.add_args(std::string("\0", 1));
              }),
              ElementsAre("args[1]: has a NUL byte"));
  EXPECT_THAT(
      Changed([](auto& r) { r.add_args(std::string(kMaxArgBytes, 'x')); }),
      ElementsAre(HasSubstr("args: has 131073 bytes")));
  EXPECT_THAT(Changed([](auto& r) {
                for (size_t i = 0; i <= kMaxArgs; ++i) r.add_args("");
              }),
              ElementsAre(HasSubstr("args: has 1025 entries")));
}

TEST_F(ValidateTest, RefusesBadEnvironment) {
  EXPECT_THAT(Changed([](auto& r) { (*r.mutable_env())["1A"] = ""; }),
              ElementsAre(HasSubstr("env[\"1A\"]: is no name")));
  EXPECT_THAT(Changed([](auto& r) { (*r.mutable_env())["A=B"] = ""; }),
              ElementsAre(HasSubstr("env[\"A=B\"]: is no name")));
  EXPECT_THAT(Changed([](auto& r) { (*r.mutable_env())["SANDGLASS_X"] = ""; }),
              ElementsAre(HasSubstr("are the server's own")));
  EXPECT_THAT(
      Changed([](auto& r) { (*r.mutable_env())["A"] = std::string("\0", 1); }),
      ElementsAre("env[\"A\"]: the value has a NUL byte"));
  EXPECT_THAT(Changed([](auto& r) {
                (*r.mutable_env())["A"] = std::string(kMaxEnvBytes, 'x');
              }),
              ElementsAre(HasSubstr("env: has 65539 bytes")));
}

TEST_F(ValidateTest, LooksAtNoNameOfAnEnvironmentThatIsTooLarge) {
  // A message of 16 MiB has room for millions of names, and what is wrong with
  // each takes far more memory than the name.
  EXPECT_THAT(Changed([](auto& r) {
                for (int i = 0; i < 20'000; ++i) {
                  (*r.mutable_env())[std::to_string(i)] = "";
                }
              }),
              ElementsAre(HasSubstr("env: has 128890 bytes")));
}

TEST_F(ValidateTest, RefusesPathsThatLeaveOrClash) {
  const auto with = [&](std::vector<std::string> paths) {
    return Changed([&](auto& r) {
      for (const std::string& path : paths) r.add_files()->set_path(path);
    });
  };
  for (const char* path : {"/etc/passwd", "..", "a/../../b", "", "a//b"}) {
    EXPECT_THAT(with({path}), ElementsAre(HasSubstr("files[0].path: ")))
        << path;
  }
  EXPECT_THAT(with({"main.sh"}),
              ElementsAre(HasSubstr("is where the code goes")));
  EXPECT_THAT(with({"a", "a"}), ElementsAre(HasSubstr("is there twice")));
  EXPECT_THAT(with({"a", "a/b"}),
              ElementsAre(HasSubstr("files[1].path: \"a/b\" needs \"a\" as a "
                                    "directory")));
  EXPECT_THAT(with({"a/b", "a"}),
              ElementsAre(HasSubstr("is a directory for another file")));
  EXPECT_THAT(with({"main.sh/x"}), ElementsAre(HasSubstr("as a directory")));
  EXPECT_THAT(with({"a/b", "a/c", "d"}), ElementsAre());
}

TEST_F(ValidateTest, BoundsFilesStdinAndFetch) {
  EXPECT_THAT(Changed([](auto& r) {
                for (size_t i = 0; i <= kMaxFiles; ++i) {
                  r.add_files()->set_path("f" + std::to_string(i));
                }
              }),
              ElementsAre(HasSubstr("files: has 257 entries")));
  EXPECT_THAT(Changed([](auto& r) {
                auto& file = *r.add_files();
                file.set_path("big");
                file.set_content(std::string(kMaxFileBytes + 1, 'x'));
              }),
              ElementsAre(HasSubstr("files: has 12582913 bytes")));
  EXPECT_THAT(
      Changed([](auto& r) { r.set_stdin(std::string(kMaxStdinBytes + 1, 0)); }),
      ElementsAre(HasSubstr("stdin: has 8388609 bytes")));
  EXPECT_THAT(Changed([](auto& r) {
                for (size_t i = 0; i <= kMaxFetch; ++i) r.add_fetch("x");
              }),
              ElementsAre(HasSubstr("fetch: has 65 entries")));
  EXPECT_THAT(Changed([](auto& r) { r.add_fetch("/etc/*"); }),
              ElementsAre(HasSubstr("fetch[0]: ")));
}

TEST_F(ValidateTest, LimitsMayOnlyTighten) {
  EXPECT_THAT(Changed([](auto& r) {
                r.mutable_limits()->set_memory_bytes(uint64_t{1} << 40);
              }),
              ElementsAre(HasSubstr("limits.memory_bytes: ")));
  EXPECT_THAT(Changed([](auto& r) {
                r.mutable_limits()->mutable_wall_time()->set_seconds(-1);
              }),
              ElementsAre(HasSubstr("limits.wall_time: is not a duration")));
  EXPECT_THAT(
      Changed([](auto& r) {
        r.mutable_limits()->mutable_cpu_time()->set_nanos(1'000'000'000);
      }),
      ElementsAre(HasSubstr("limits.cpu_time: is not a duration")));
  v1::RunCodeRequest request = GoodRequest();
  request.mutable_limits()->mutable_wall_time()->set_nanos(500'000'000);
  const auto valid = ValidateRunCode(policy_, std::move(request));
  ASSERT_TRUE(valid.ok()) << valid.status();
  EXPECT_EQ(valid->job.limits.wall_time, absl::Milliseconds(500));
}

TEST_F(ValidateTest, RefusesBadMarks) {
  EXPECT_THAT(Changed([](auto& r) { r.set_priority(v1::RunPriority(7)); }),
              ElementsAre(HasSubstr("priority: has no value 7")));
  EXPECT_THAT(Changed([](auto& r) { r.set_request_id("a\nb"); }),
              ElementsAre(HasSubstr("request_id: ")));
  EXPECT_THAT(Changed([](auto& r) { r.set_request_id(std::string(129, 'x')); }),
              ElementsAre(HasSubstr("request_id: has 129 bytes")));
  EXPECT_THAT(Changed([](auto& r) { (*r.mutable_labels())[""] = "v"; }),
              ElementsAre(HasSubstr("labels[\"\"]: a key has")));
  EXPECT_THAT(Changed([](auto& r) { (*r.mutable_labels())["k"] = "\x1b[2J"; }),
              ElementsAre(HasSubstr("has a control character")));
  EXPECT_THAT(Changed([](auto& r) {
                for (int i = 0; i < 33; ++i) {
                  (*r.mutable_labels())["k" + std::to_string(i)] = "v";
                }
              }),
              ElementsAre(HasSubstr("labels: has 33 entries")));
}

class KernelFilesTest : public ::testing::Test {
 protected:
  // A profile of 16 open files, and a language whose kernel starts with 64.
  static PolicySet Policy() {
    policy::Language language{
        .id = "many",
        .name = "Many",
        .extensions = {".many"},
        .source_file = "main.many",
        .run = {"/bin/sh", "${source}"},
        .version = {"/bin/sh", "--version"},
        .limits = {{policy::LimitKind::kOpenFiles, 64}},
        .package = "many",
        .kernel = policy::KernelRecipe{.command = {"/bin/sh", "kernel"}}};
    policy::Profile standard{.name = "default", .description = "for tests"};
    standard.limits.open_files = standard.maximum.open_files = 16;
    auto languages = policy::LanguageTable::Create({language});
    EXPECT_TRUE(languages.ok()) << languages.status();
    auto set = PolicySet::Create(*std::move(languages), {standard});
    EXPECT_TRUE(set.ok()) << set.status();
    return *std::move(set);
  }
  static v1::RunCodeRequest Request(bool rich_results, uint32_t open_files) {
    v1::RunCodeRequest request;
    request.set_language("many");
    request.set_code("1");
    request.set_rich_results(rich_results);
    if (open_files > 0) request.mutable_limits()->set_open_files(open_files);
    return request;
  }

  const PolicySet policy_ = Policy();
};

TEST_F(KernelFilesTest, AreRaisedWhereTheProfileHasFewer) {
  const auto valid = ValidateRunCode(policy_, Request(true, 0));
  ASSERT_TRUE(valid.ok()) << valid.status();
  EXPECT_EQ(valid->job.limits.open_files, 64u);
}

TEST_F(KernelFilesTest, AreNoFewerThanItStartsWith) {
  const auto refused = ValidateRunCode(policy_, Request(true, 63));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("limits.open_files: 63 open files are too few for a "
                        "kernel of Many to start; it takes at least 64"));
  EXPECT_TRUE(ValidateRunCode(policy_, Request(true, 64)).ok());
  // A program without a kernel may do with less.
  EXPECT_TRUE(ValidateRunCode(policy_, Request(false, 16)).ok());
  // What can't work at all is told once.
  const auto none = ValidateRunCode(policy_, Request(true, 1));
  EXPECT_THAT(std::string(none.status().message()),
              AllOf(HasSubstr("too small to work"),
                    ::testing::Not(HasSubstr(" more)"))));
}

TEST_F(KernelFilesTest, GoWithRichResults) {
  v1::RunCodeRequest request = Request(true, 0);
  v1::InputFile& file = *request.add_files();
  file.set_path("data/a.csv");
  request.add_fetch("*.png");
  request.add_fetch("/tmp/**/*.png");
  const auto valid = ValidateRunCode(policy_, v1::RunCodeRequest(request));
  ASSERT_TRUE(valid.ok()) << valid.status();
  ASSERT_EQ(valid->job.files.size(), 1u);
  EXPECT_EQ(valid->job.files[0].path, "data/a.csv");
  EXPECT_EQ(valid->job.fetch.size(), 2u);
  // From a jail without a kernel only what is below /workspace can be had.
  request.set_rich_results(false);
  EXPECT_THAT(
      std::string(
          ValidateRunCode(policy_, std::move(request)).status().message()),
      HasSubstr("fetch[1]: path \"/tmp/**/*.png\" is absolute"));
  for (const char* bad : {"//a", "/../a", "/", "../a"}) {
    v1::RunCodeRequest wrong = Request(true, 0);
    wrong.add_fetch(bad);
    EXPECT_FALSE(ValidateRunCode(policy_, std::move(wrong)).ok()) << bad;
  }
}

TEST(RichResults, ComeFromAKernelThatNeedsNoCompiler) {
  policy::Language language{
      .id = "both",
      .name = "Both",
      .extensions = {".both"},
      .source_file = "main.both",
      .compile = policy::CompilePhase{.command = {"/bin/sh", "${source}"},
                                      .artifacts = {"a.out"}},
      .run = {"/workspace/a.out"},
      .version = {"/bin/sh", "--version"},
      .package = "both",
      .kernel = policy::KernelRecipe{.command = {"/bin/sh", "kernel"}}};
  auto languages = policy::LanguageTable::Create({language});
  ASSERT_TRUE(languages.ok()) << languages.status();
  policy::Profile standard{.name = "default", .description = "for tests"};
  const auto set = PolicySet::Create(*std::move(languages), {standard});
  ASSERT_TRUE(set.ok()) << set.status();
  for (const bool rich : {false, true}) {
    v1::RunCodeRequest request;
    request.set_language("both");
    request.set_code("1");
    request.set_rich_results(rich);
    const auto valid = ValidateRunCode(*set, std::move(request));
    ASSERT_TRUE(valid.ok()) << valid.status();
    EXPECT_EQ(valid->job.compile.has_value(), !rich);
  }
}

TEST(PolicySet, RefusesWhatItCannotRun) {
  policy::Language greedy{
      .id = "c",
      .name = "C",
      .extensions = {".c"},
      .source_file = "main.c",
      .compile = policy::CompilePhase{.command = {"/usr/bin/gcc", "${source}"},
                                      .artifacts = {"a.out"},
                                      .limits = {{policy::LimitKind::kTmpBytes,
                                                  uint64_t{1} << 30}}},
      .run = {"/workspace/a.out"},
      .version = {"/usr/bin/gcc", "--version"},
      .package = "gcc"};
  auto table = policy::LanguageTable::Create({greedy});
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_THAT(
      std::string(
          PolicySet::Create(*table, {{.name = "default"}}).status().message()),
      HasSubstr("language c under profile default: /compile/limits/tmp_bytes"));
  auto empty = policy::LanguageTable::Create({});
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_THAT(
      std::string(
          PolicySet::Create(*empty, {{.name = "other"}}).status().message()),
      HasSubstr("no profile \"default\""));
  EXPECT_THAT(std::string(PolicySet::Create(*empty, {{.name = "default",
                                                      .languages = {"nope"}}})
                              .status()
                              .message()),
              HasSubstr("\"nope\" is not a language's id"));
}

TEST_F(ValidateTest, NamesAProfileThatGrantsWhatThisOneRefuses) {
  const auto ask = [this](const std::string& profile, uint64_t mebibytes) {
    v1::RunCodeRequest request = GoodRequest();
    request.set_language("absent");
    request.set_profile(profile);
    request.mutable_limits()->set_memory_bytes(mebibytes << 20);
    return Violations(request);
  };
  EXPECT_THAT(ask("narrow", 400),
              ElementsAre(AllOf(HasSubstr("above the maximum of profile"),
                                HasSubstr("; profile \"default\" allows it"))));
  // Where none does, the key and the file that would.
  EXPECT_THAT(
      ask("narrow", 600),
      ElementsAre(AllOf(
          HasSubstr("limits.memory_bytes: 600 MiB is above the maximum"),
          HasSubstr("; no profile allows it: whoever runs the daemon raises "
                    "\"memory_bytes\" under \"maximum\" in "
                    "profiles/narrow.json of its policy_dir, for all who may "
                    "use that profile"))));
  // No profile helps with what can't work at all.
  EXPECT_THAT(ask("narrow", 0),
              ElementsAre(::testing::Not(HasSubstr("allows it"))));
  EXPECT_THAT(ask("narrow", uint64_t{1} << 30),
              ElementsAre(::testing::Not(HasSubstr("policy_dir"))));
}

TEST_F(ValidateTest, NamesALanguageOfTheWorldThatIsNotOffered) {
  const auto ask = [this](const std::string& language) {
    v1::RunCodeRequest request = GoodRequest();
    request.set_language(language);
    return Violations(request);
  };
  EXPECT_THAT(ask("ts"),
              ElementsAre(AllOf(
                  HasSubstr("language: \"ts\" is TypeScript, which this daemon "
                            "does not offer: a file languages/typescript.json "
                            "in the daemon's policy_dir adds it (Debian "
                            "package node-typescript); there are: "),
                  ::testing::Not(HasSubstr("did you mean")))));
  EXPECT_THAT(ask("Rust"), ElementsAre(HasSubstr("\"Rust\" is Rust, which")));
  EXPECT_THAT(ask("swift"), ElementsAre(HasSubstr("Debian 12 has no package")));
  EXPECT_THAT(ask("bsh"), ElementsAre(HasSubstr("did you mean \"bash\"?")));
}

}  // namespace
}  // namespace sandglass::server
