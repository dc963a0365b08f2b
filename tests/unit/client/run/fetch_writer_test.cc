#include "client/run/fetch_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "client/base/local_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/temp_dir.h"

namespace sandglass::client {

using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;
namespace {

using ::testing::HasSubstr;

v1::OutputFile File(const std::string& path, const std::string& content,
                    uint32_t mode = 0644) {
  v1::OutputFile file;
  file.set_path(path);
  file.set_content(content);
  file.set_mode(mode);
  return file;
}

int CountEntries(const std::string& directory) {
  int count = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(directory)) {
    ++count;
  }
  return count;
}

mode_t ModeOf(const std::string& path) {
  struct stat info = {};
  return lstat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

class FetchWriterTest : public ::testing::Test {
 protected:
  FetchWriterTest() {
    mkdir(out_.c_str(), 0755);
    WriteFile(victim_, "precious");
  }
  absl::Status Write(const v1::OutputFile& file) {
    const auto writer = FetchWriter::Open(out_, existing_);
    if (!writer.ok()) return writer.status();
    return writer->Write(file);
  }

  ExistingFile existing_ = ExistingFile::kReplace;
  TempDir dir_;
  const std::string out_ = dir_.Path("out");
  const std::string victim_ = dir_.Path("victim");
};

TEST_F(FetchWriterTest, WritesFilesAndTheirDirectories) {
  EXPECT_TRUE(Write(File("a.txt", "one")).ok());
  EXPECT_TRUE(Write(File("x/y/b.bin", std::string("\0\xff", 2))).ok());
  EXPECT_EQ(ReadFile(out_ + "/a.txt"), "one");
  EXPECT_EQ(ReadFile(out_ + "/x/y/b.bin"), std::string("\0\xff", 2));
}

TEST_F(FetchWriterTest, MakesTheDirectoryItself) {
  const auto writer = FetchWriter::Open(dir_.Path("new"), existing_);
  ASSERT_TRUE(writer.ok());
  EXPECT_TRUE(writer->Write(File("a", "x")).ok());
  EXPECT_EQ(ReadFile(dir_.Path("new/a")), "x");
  EXPECT_FALSE(FetchWriter::Open(dir_.Path("no/such/parent"), existing_).ok());
  EXPECT_FALSE(FetchWriter::Open(victim_, existing_).ok());
}

TEST_F(FetchWriterTest, ReplacesARegularFileAsAWhole) {
  WriteFile(out_ + "/a", "a longer old content");
  EXPECT_TRUE(Write(File("a", "new")).ok());
  EXPECT_EQ(ReadFile(out_ + "/a"), "new");
  EXPECT_EQ(CountEntries(out_), 1);
}

TEST_F(FetchWriterTest, KeepsWhatIsThereWhenToldTo) {
  existing_ = ExistingFile::kKeep;
  WriteFile(out_ + "/a", "old");
  const absl::Status refused = Write(File("a", "new"));
  EXPECT_EQ(refused.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("--fetch-dir"));
  EXPECT_EQ(ReadFile(out_ + "/a"), "old");
  EXPECT_TRUE(Write(File("b", "new")).ok());
  EXPECT_EQ(CountEntries(out_), 2);
}

TEST_F(FetchWriterTest, KeepsWhatCameWhileItWasWritten) {
  const UniqueFd directory(
      open(out_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  absl::StatusOr<NewFile> file =
      NewFile::Create(directory.get(), "a", ExistingFile::kKeep);
  ASSERT_TRUE(file.ok()) << file.status();
  ASSERT_TRUE(file->Write("new").ok());
  WriteFile(out_ + "/a", "another's");
  EXPECT_EQ(file->Place(0644).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ReadFile(out_ + "/a"), "another's");
}

TEST_F(FetchWriterTest, DoesNotWriteThroughAHardLink) {
  ASSERT_EQ(link(victim_.c_str(), (out_ + "/a").c_str()), 0);
  EXPECT_TRUE(Write(File("a", "new")).ok());
  EXPECT_EQ(ReadFile(victim_), "precious");
}

TEST_F(FetchWriterTest, KeepsExecuteBitsButNoSetId) {
  const mode_t old = umask(022);
  EXPECT_TRUE(Write(File("tool", "x", 06777)).ok());
  EXPECT_TRUE(Write(File("plain", "x", 0666)).ok());
  EXPECT_TRUE(Write(File("closed", "x", 0)).ok());
  umask(old);
  EXPECT_EQ(ModeOf(out_ + "/tool"), 0755u);
  EXPECT_EQ(ModeOf(out_ + "/plain"), 0644u);
  EXPECT_EQ(ModeOf(out_ + "/closed"), 0644u);
}

TEST_F(FetchWriterTest, RefusesHostilePaths) {
  for (const std::string& path :
       {std::string(""), std::string("/etc/passwd"), std::string("../victim"),
        std::string("a/../../victim"), std::string(".."), std::string("."),
        std::string("./a"), std::string("a//b"), std::string("a/"),
        std::string("a\0b", 3), std::string("a\nb"), std::string("a\x1b[2J"),
        std::string("\xc2\x9b"), std::string("\xe2\x80\xaex"),
        std::string("bad\xff"), std::string(5000, 'x')}) {
    const absl::Status status = Write(File(path, "evil"));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_THAT(std::string(status.message()), HasSubstr("unsafe path"));
  }
  EXPECT_EQ(ReadFile(victim_), "precious");
  EXPECT_EQ(CountEntries(out_), 0);
}

TEST_F(FetchWriterTest, NeverWritesThroughSymbolicLinks) {
  ASSERT_EQ(symlink(victim_.c_str(), (out_ + "/link").c_str()), 0);
  ASSERT_EQ(symlink(dir_.path().c_str(), (out_ + "/dir").c_str()), 0);
  ASSERT_EQ(symlink("/nonexistent", (out_ + "/dangling").c_str()), 0);
  EXPECT_THAT(std::string(Write(File("link", "evil")).message()),
              HasSubstr("is a symbolic link"));
  EXPECT_FALSE(Write(File("dangling", "evil")).ok());
  EXPECT_FALSE(Write(File("dir/victim", "evil")).ok());
  EXPECT_FALSE(Write(File("dir/new/deeper", "evil")).ok());
  EXPECT_EQ(ReadFile(victim_), "precious");
  EXPECT_FALSE(std::filesystem::exists(dir_.Path("new")));
  EXPECT_EQ(CountEntries(out_), 3);
}

TEST_F(FetchWriterTest, LeavesDirectoriesAndDevicesAlone) {
  mkdir((out_ + "/d").c_str(), 0755);
  mkfifo((out_ + "/fifo").c_str(), 0644);
  EXPECT_FALSE(Write(File("d", "evil")).ok());
  EXPECT_FALSE(Write(File("fifo", "evil")).ok());
  WriteFile(out_ + "/file", "x");
  EXPECT_FALSE(Write(File("file/below", "evil")).ok());
  EXPECT_EQ(CountEntries(out_), 3);
}

TEST_F(FetchWriterTest, SaysWhyTheDaemonCouldNotBringAFileBack) {
  v1::OutputFile file = File("a", "");
  file.set_error(v1::FILE_ERROR_NOT_FOUND);
  EXPECT_THAT(std::string(Write(file).message()),
              HasSubstr("left no such file"));
  EXPECT_EQ(CountEntries(out_), 0);
}

}  // namespace
}  // namespace sandglass::client
