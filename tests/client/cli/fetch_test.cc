// Files that come back, through the binary.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using testing::ReadFile;

using ::testing::HasSubstr;
using ::testing::Not;

void AddFile(v1::RunCodeResponse& response, const std::string& path,
             const std::string& content) {
  v1::OutputFile& file = *response.add_files();
  file.set_path(path);
  file.set_content(content);
  file.set_mode(0644);
}

TEST(CliFetchTest, WritesBelowTheDirectoryAndNowhereElse) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  AddFile(response, "sub/good.txt", "good");
  AddFile(response, "../evil", "evil");
  AddFile(response, daemon.directory().Path("evil"), "evil");
  AddFile(response, "link/evil", "evil");
  AddFile(response, "esc\x1b[2J", "evil");
  AddFile(response, "after.txt", "still written");
  daemon.Answer(response);
  const std::string out = daemon.directory().Path("out");
  mkdir(out.c_str(), 0755);
  ASSERT_EQ(symlink("..", (out + "/link").c_str()), 0);
  const SubprocessResult result = daemon.RunClient(
      {"run", "-l", "py", "-c", "x", "--fetch", "**", "--fetch-dir", "out"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_EQ(ReadFile(out + "/sub/good.txt"), "good");
  EXPECT_EQ(ReadFile(out + "/after.txt"), "still written");
  EXPECT_FALSE(std::filesystem::exists(daemon.directory().Path("evil")));
  EXPECT_THAT(result.err, HasSubstr("sandglass: fetch ../evil: unsafe path"));
  EXPECT_THAT(result.err, HasSubstr("sandglass: fetch link/evil: "));
  EXPECT_THAT(result.err, HasSubstr("fetch esc\\x1b[2J: unsafe path"));
  EXPECT_THAT(result.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(result.err, HasSubstr("sandglass: OK after"));
}

TEST(CliFetchTest, WritesToTheWorkingDirectoryByDefault) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  AddFile(response, "a.txt", "content");
  daemon.Answer(response);
  EXPECT_EQ(daemon.RunClient({"run", "-l", "py", "-c", "x", "--fetch", "a.txt"})
                .exit_code,
            0);
  EXPECT_EQ(ReadFile(daemon.directory().Path("a.txt")), "content");
}

TEST(CliFetchTest, ReplacesFilesOnlyInADirectoryThatIsNamed) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  AddFile(response, "a.txt", "new");
  daemon.Answer(response);
  const std::string path = daemon.directory().Path("a.txt");
  testing::WriteFile(path, "old");
  const SubprocessResult result =
      daemon.RunClient({"run", "-l", "py", "-c", "x", "--fetch", "*"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err,
              HasSubstr("sandglass: fetch a.txt: it is there already; to "
                        "replace it name its directory with --fetch-dir"));
  EXPECT_EQ(ReadFile(path), "old");
  EXPECT_EQ(daemon
                .RunClient({"run", "-l", "py", "-c", "x", "--fetch", "*",
                            "--fetch-dir", "."})
                .exit_code,
            0);
  EXPECT_EQ(ReadFile(path), "new");
}

TEST(CliFetchTest, JsonWritesFilesOnlyWhenADirectoryIsNamed) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  AddFile(response, "a.txt", "content");
  daemon.Answer(response);
  EXPECT_THAT(daemon
                  .RunClient({"run", "-l", "py", "-c", "x", "--json", "--fetch",
                              "a.txt"})
                  .out,
              HasSubstr("\"Y29udGVudA==\""));
  EXPECT_FALSE(std::filesystem::exists(daemon.directory().Path("a.txt")));
  daemon.RunClient({"run", "-l", "py", "-c", "x", "--json", "--fetch", "a.txt",
                    "--fetch-dir", "."});
  EXPECT_EQ(ReadFile(daemon.directory().Path("a.txt")), "content");
}

TEST(CliFetchTest, WritesNothingThatWasNotAskedFor) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  AddFile(response, "a.txt", "content");
  daemon.Answer(response);
  EXPECT_EQ(daemon.RunClient({"run", "-l", "py", "-c", "x"}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(daemon.directory().Path("a.txt")));
}

TEST(CliFetchTest, AMissingFileFailsAGoodRunButNotTheProgramsCode) {
  FakeDaemon daemon;
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  v1::OutputFile& missing = *response.add_files();
  missing.set_path("out.png");
  missing.set_error(v1::FILE_ERROR_NOT_FOUND);
  daemon.Answer(response);
  const SubprocessResult result =
      daemon.RunClient({"run", "-l", "py", "-c", "x", "--fetch", "out.png"});
  EXPECT_EQ(result.exit_code, 125);
  EXPECT_THAT(result.err, HasSubstr("fetch out.png: the program left no such "
                                    "file"));
  response.set_outcome(v1::OUTCOME_TIMEOUT);
  daemon.Answer(response);
  EXPECT_EQ(
      daemon.RunClient({"run", "-l", "py", "-c", "x", "--fetch", "out.png"})
          .exit_code,
      124);
}

TEST(CliFetchTest, RefusesABadDirectoryBeforeTheRun) {
  FakeDaemon daemon;
  EXPECT_EQ(daemon
                .RunClient({"run", "-l", "py", "-c", "x", "--fetch", "a",
                            "--fetch-dir", "no/such/dir"})
                .exit_code,
            125);
  EXPECT_EQ(daemon.runs, 0);
}

}  // namespace
}  // namespace sandglass::client
