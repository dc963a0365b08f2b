#include "client/base/json_text.h"
#include "client/base/text_table.h"
#include "client/cli/info_commands.h"
#include "client/run/runs_commands.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TextTableTest, AlignsByCharactersAndTrims) {
  EXPECT_EQ(TextTable({{"a", "b"}, {"\xc3\xa4\xc3\xb6", "c", ""}, {}}, "> "),
            "> a   b\n> \xc3\xa4\xc3\xb6  c\n> \n");
  EXPECT_EQ(TextTable({{"\x1b\n"}}, ""), "\\x1b\\x0a\n");
  EXPECT_EQ(TextTable({}, ""), "");
}

TEST(InfoTextTest, ShowsVersionRoomProfilesAndLayers) {
  const std::string text = InfoText(FakeInfo());
  EXPECT_THAT(text, HasSubstr("sandglassd 0.1.0, kernel 6.1.0-28-amd64, up "
                              "1h2m3s\n"));
  EXPECT_THAT(text, HasSubstr("runs: 1 of 8 running, 0 of 64 queued; memory: "
                              "256 MiB of 4 GiB reserved\n"));
  EXPECT_THAT(text, HasSubstr("  bash    not available: install the package "
                              "bash\n"));
  EXPECT_THAT(text, HasSubstr("limits: wall 30.00 s, memory 256 MiB\n"));
  EXPECT_THAT(text, HasSubstr("network: none; languages: python\n"));
  EXPECT_THAT(text,
              HasSubstr("  seccomp  in force  required  231 calls allowed\n"));
}

TEST(InfoTextTest, ShowsWhatAProfileReaches) {
  v1::GetServerInfoResponse info = FakeInfo();
  EXPECT_THAT(InfoText(info), Not(HasSubstr("reaches")));
  v1::ProfileInfo& profile = *info.mutable_profiles(0);
  profile.set_network("allowlist");
  profile.add_network_hosts("a.example: port 443");
  profile.add_network_hosts("*.b.example: ports 80 and 443");
  EXPECT_THAT(InfoText(info),
              AllOf(HasSubstr("network: allowlist; languages: python\n"),
                    HasSubstr("  reaches: a.example: port 443; *.b.example: "
                              "ports 80 and 443\n")));
  for (int i = 0; i < 8; ++i) profile.add_network_hosts("c.example: port 1");
  EXPECT_THAT(InfoText(info), HasSubstr("c.example: port 1; and 2 more\n"));
}

TEST(InfoTextTest, ShowsTheCompileCache) {
  v1::GetServerInfoResponse info = FakeInfo();
  EXPECT_THAT(InfoText(info), HasSubstr("compile cache: off\n"));
  v1::CompileCache& cache = *info.mutable_compile_cache();
  cache.set_entries(12);
  cache.set_bytes(3 << 20);
  cache.set_max_bytes(256 << 20);
  cache.set_hits(10);
  cache.set_misses(5);
  cache.set_not_cacheable(1);
  info.mutable_profiles(0)->set_compile_cache("own");
  const std::string text = InfoText(info);
  EXPECT_THAT(text, HasSubstr("compile cache: 12 programs in 3 MiB of 256 MiB; "
                              "10 hits, 5 misses, 1 not to be kept\n"));
  EXPECT_THAT(text, HasSubstr("languages: python; compile cache: own\n"));
  cache.set_evicted(3);
  cache.set_dropped(2);
  cache.set_write_failures(1);
  EXPECT_THAT(InfoText(info),
              HasSubstr("kept, 3 gone for lack of room, 2 damaged and dropped, "
                        "1 not written\n"));
}

TEST(LanguagesTextTest, ShowsAliasesFilesAndVersions) {
  EXPECT_EQ(
      LanguagesText(FakeInfo()),
      "ID      NAME    ALIASES  FILES  SESSIONS    LOOKED AT  VERSION\n"
      "python  Python  py       .py    keep state  no         3.11.2\n"
      "bash    Bash    sh       .sh    keep state  no         not available: "
      "install "
      "the package bash\n");
}

TEST(RunsTextTest, ShowsALineForEachRun) {
  v1::ListRunsResponse runs;
  v1::RunSummary& run = *runs.add_runs();
  run.set_run_id("r-1");
  run.set_state(v1::RUN_STATE_RUNNING);
  run.set_language("python");
  run.set_profile("default");
  run.set_caller("uid:1000");
  run.mutable_elapsed()->set_seconds(2);
  (*run.mutable_labels())["b"] = "2";
  (*run.mutable_labels())["a"] = "x\x1b";
  v1::RunSummary& done = *runs.add_runs();
  done.set_run_id("r-0");
  done.set_state(v1::RUN_STATE_FINISHED);
  done.set_outcome(v1::OUTCOME_TIMEOUT);
  const std::string text = RunsText(runs);
  EXPECT_THAT(text, HasSubstr("r-1     running   python    default  -        "
                              "2.00 s"));
  EXPECT_THAT(text, HasSubstr("a=x\\x1b,b=2\n"));
  EXPECT_THAT(text, HasSubstr("finished"));
  EXPECT_THAT(text, HasSubstr("TIMEOUT"));
}

TEST(JsonTextTest, TextIsThereAsSuch) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data("gr\xc3\xbc\xc3\x9f\0e\n");
  response.mutable_stderr()->set_data("\xff");
  response.mutable_compile()->mutable_stderr()->set_data("warning");
  v1::MimeData& value = *response.add_results()->add_data();
  value.set_mime_type("text/plain");
  value.set_data("42");
  v1::OutputFile& file = *response.add_files();
  file.set_path("a.txt");
  file.set_content("hi");
  const auto text = JsonText(response);
  ASSERT_TRUE(text.ok());
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << *text;
  EXPECT_EQ(json["stdout"]["text"], response.stdout().data());
  EXPECT_EQ(json["stdout"]["data"], "Z3LDvMOf");
  EXPECT_FALSE(json["stderr"].contains("text"));
  EXPECT_EQ(json["stderr"]["data"], "/w==");
  EXPECT_EQ(json["compile"]["stderr"]["text"], "warning");
  EXPECT_EQ(json["results"][0]["data"][0]["text"], "42");
  EXPECT_EQ(json["files"][0]["pathText"], "a.txt");
  EXPECT_EQ(json["files"][0]["text"], "hi");
}

TEST(JsonTextTest, IsOneLineThatIsSafeForATerminal) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.set_exit_code(0);
  response.mutable_stdout()->set_data("\x1b[2J");
  const std::string nasty =
      "\x1b\x07\x7f\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9\"\\\n";
  response.mutable_evidence()->set_explanation(nasty);
  const auto text = JsonText(response);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->find('\n'), text->size() - 1);
  for (const char* raw : {"\x1b", "\x7f", "\xc2\x9b", "\xe2\x80\xae",
                          "\xe2\x81\xa6", "\xe2\x81\xa9"}) {
    EXPECT_THAT(*text, Not(HasSubstr(raw)));
  }
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  ASSERT_TRUE(json.is_object()) << *text;
  EXPECT_EQ(json["evidence"]["explanation"], nasty);
  EXPECT_EQ(json["outcome"], "OUTCOME_OK");
  EXPECT_EQ(json["exitCode"], 0);
  EXPECT_EQ(json["runId"], "r-1");
}

}  // namespace
}  // namespace sandglass::client
