#include "client/run/run_request.h"

#include <sys/stat.h>

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::client {

using testing::TempDir;
using testing::WriteFile;
namespace {

using ::testing::HasSubstr;

TEST(RunRequestTest, CarriesAllThatTheOptionsSay) {
  const TempDir dir;
  WriteFile(dir.Path("p.py"), "print(1)");
  WriteFile(dir.Path("in"), std::string("a\0\xff", 3));
  WriteFile(dir.Path("tool"), "#!");
  chmod(dir.Path("tool").c_str(), 0755);
  RunOptions options;
  options.file = dir.Path("p.py");
  options.stdin_file = dir.Path("in");
  options.files = {{"bin/tool", dir.Path("tool")}, {"data", dir.Path("in")}};
  options.args = {"x"};
  options.env = {{"A", "1"}, {"A", "2"}};
  options.labels = {{"k", "v"}};
  options.fetch = {"*"};
  options.limits.timeout = absl::Milliseconds(1500);
  options.limits.memory_bytes = 7;
  const auto request = BuildRunRequest(options);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->code(), "print(1)");
  EXPECT_EQ(request->stdin(), std::string("a\0\xff", 3));
  ASSERT_EQ(request->files_size(), 2);
  EXPECT_EQ(request->files(0).path(), "bin/tool");
  EXPECT_TRUE(request->files(0).executable());
  EXPECT_FALSE(request->files(1).executable());
  EXPECT_EQ(request->env().at("A"), "2");
  EXPECT_EQ(request->labels().at("k"), "v");
  EXPECT_EQ(request->limits().wall_time().seconds(), 1);
  EXPECT_EQ(request->limits().wall_time().nanos(), 500000000);
  EXPECT_EQ(request->limits().memory_bytes(), 7u);
  EXPECT_FALSE(request->limits().has_max_processes());
  EXPECT_EQ(request->language(), "");
}

TEST(RunRequestTest, CarriesALockFile) {
  const TempDir dir;
  WriteFile(dir.Path("lock"), "six==1.16.0\n");
  RunOptions options;
  options.code = "x";
  options.libraries = {"six"};
  options.library_lock = dir.Path("lock");
  const auto request = BuildRunRequest(options);
  ASSERT_TRUE(request.ok()) << request.status();
  EXPECT_EQ(request->library_lock(), "six==1.16.0\n");
}

TEST(RunRequestTest, SaysWhyALockFileCannotBeTaken) {
  const TempDir dir;
  WriteFile(dir.Path("empty"), "");
  WriteFile(dir.Path("large"), std::string((1 << 20) + 1, '#'));
  WriteFile(dir.Path("binary"), "\xff");
  RunOptions options;
  options.code = "x";
  const auto words = [&options](const std::string& path) {
    options.library_lock = path;
    return std::string(BuildRunRequest(options).status().message());
  };
  EXPECT_THAT(words(dir.Path("none")),
              HasSubstr("--library-lock: cannot open '" + dir.Path("none")));
  EXPECT_THAT(words(dir.Path("empty")),
              HasSubstr("--library-lock: the file is empty"));
  EXPECT_THAT(words(dir.Path("large")),
              HasSubstr("has more than 1048576 bytes"));
  EXPECT_THAT(words(dir.Path("binary")), HasSubstr("--library-lock"));
}

TEST(RunRequestTest, AsksForNoLimitsUnlessTold) {
  RunOptions options;
  options.code = "x";
  const auto request = BuildRunRequest(options);
  ASSERT_TRUE(request.ok());
  EXPECT_FALSE(request->has_limits());
}

TEST(RunRequestTest, NamesTheFileThatCannotBeRead) {
  const TempDir dir;
  RunOptions options;
  options.file = dir.Path("none.py");
  EXPECT_THAT(BuildRunRequest(options).status().message(),
              HasSubstr("none.py"));
  options.file = dir.path();
  EXPECT_THAT(BuildRunRequest(options).status().message(),
              HasSubstr("Is a directory"));
  options.file.reset();
  options.code = "x";
  options.files = {{"x", dir.Path("none")}};
  EXPECT_FALSE(BuildRunRequest(options).ok());
  options.files.clear();
  options.stdin_file = dir.Path("none");
  EXPECT_FALSE(BuildRunRequest(options).ok());
}

TEST(RunRequestTest, RefusesEndlessAndOversizedInput) {
  RunOptions options;
  options.file = "/dev/zero";
  EXPECT_THAT(BuildRunRequest(options).status().message(),
              HasSubstr("'/dev/zero' has more than"));
  const TempDir dir;
  WriteFile(dir.Path("big"), std::string(9 << 20, 'x'));
  options.file.reset();
  options.code = "x";
  options.files = {{"a", dir.Path("big")}, {"b", dir.Path("big")}};
  EXPECT_THAT(BuildRunRequest(options).status().message(),
              HasSubstr("come to 18 MiB"));
}

TEST(RunRequestTest, NamesWhatIsNotUtf8) {
  RunOptions options;
  options.code = "ab\xff";
  EXPECT_EQ(BuildRunRequest(options).status().message(),
            "the program is not UTF-8 (byte 2)");
  options.code = "x";
  options.env = {{"NAME", "\xff"}};
  EXPECT_EQ(BuildRunRequest(options).status().message(),
            "--env NAME is not UTF-8 (byte 0)");
}

}  // namespace
}  // namespace sandglass::client
