#include "client/run/result_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::client {
namespace {

using ::testing::HasSubstr;
using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;

ResultFiles OpenIn(const TempDir& dir, const std::string& name) {
  auto files = ResultFiles::Open(dir.Path(name));
  EXPECT_TRUE(files.ok()) << files.status();
  return *std::move(files);
}

TEST(ResultFilesTest, NamesFilesByRunAndPlace) {
  const TempDir dir;
  for (const int run : {1, 2}) {
    ResultFiles files = OpenIn(dir, "out");
    const std::string base = dir.Path("out/run-") + std::to_string(run);
    EXPECT_EQ(files.Save("image/png", "P").value(), base + "-1.png");
    EXPECT_EQ(files.Save("text/html", "H").value(), base + "-2.html");
  }
  EXPECT_EQ(ReadFile(dir.Path("out/run-1-1.png")), "P");
  EXPECT_EQ(ReadFile(dir.Path("out/run-2-2.html")), "H");
}

TEST(ResultFilesTest, CountsOnFromTheHighestRunThatIsThere) {
  const TempDir dir;
  for (const char* name :
       {"run-7-1.png", "run-12-x", "run-x-1.png", "run-99", "run-99-1-1",
        "run--1-1.png", "run-4000000000-1.png", "walk-50-1.png"}) {
    WriteFile(dir.Path(name), "old");
  }
  ResultFiles files = OpenIn(dir, "");
  EXPECT_EQ(files.Save("image/png", "P").value(), dir.Path("run-13-1.png"));
}

TEST(ResultFilesTest, NeverWritesToWhatIsThere) {
  const TempDir dir;
  ResultFiles files = OpenIn(dir, "");
  ASSERT_TRUE(files.Save("image/png", "1").ok());
  // They come while the run goes on: another's file, and a link to a file.
  WriteFile(dir.Path("run-1-2.png"), "theirs");
  WriteFile(dir.Path("secret"), "secret");
  ASSERT_EQ(symlink("secret", dir.Path("run-2-2.png").c_str()), 0);
  EXPECT_EQ(files.Save("image/png", "2").value(), dir.Path("run-3-2.png"));
  EXPECT_EQ(ReadFile(dir.Path("run-1-2.png")), "theirs");
  EXPECT_EQ(ReadFile(dir.Path("secret")), "secret");
  EXPECT_EQ(ReadFile(dir.Path("run-3-2.png")), "2");
}

TEST(ResultFilesTest, ANamedDirectoryIsMadeAtOnceOrRefused) {
  const TempDir dir;
  OpenIn(dir, "new");
  EXPECT_TRUE(std::filesystem::is_directory(dir.Path("new")));
  WriteFile(dir.Path("file"), "");
  const auto file = ResultFiles::Open(dir.Path("file"));
  EXPECT_THAT(file.status().message(), HasSubstr("cannot open the directory"));
  const auto deep = ResultFiles::Open(dir.Path("no/such"));
  EXPECT_THAT(deep.status().message(), HasSubstr("cannot make the directory"));
}

TEST(ResultFilesTest, OneRunDoesNotFillTheDirectory) {
  const TempDir dir;
  ResultFiles files = OpenIn(dir, "");
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(files.Save("image/png", "").ok());
  EXPECT_EQ(files.Save("image/png", "").status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(ResultFilesTest, AFileThatCannotBeWrittenLeavesNothing) {
  const TempDir dir;
  ResultFiles files = OpenIn(dir, "gone");
  std::filesystem::remove(dir.Path("gone"));
  EXPECT_FALSE(files.Save("image/png", "P").ok());
}

TEST(ExtensionOfTest, FollowsFromTheTypeAlone) {
  EXPECT_EQ(ExtensionOf("image/png"), ".png");
  EXPECT_EQ(ExtensionOf("IMAGE/PNG; a=b"), ".png");
  EXPECT_EQ(ExtensionOf("image/svg+xml"), ".svg");
  EXPECT_EQ(ExtensionOf("application/vnd.plotly.v1+json"), ".json");
  EXPECT_EQ(ExtensionOf("text/x-python"), ".txt");
  EXPECT_EQ(ExtensionOf("x/../../etc/passwd"), ".bin");
  EXPECT_EQ(ExtensionOf(""), ".bin");
}

}  // namespace
}  // namespace sandglass::client
