#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sandbox/archive/tar.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/os/files.h"
#include "tests/support/calls/agent_fixture.h"

namespace sandglass::sandbox {
namespace {

using Parents = FileAgent::Parents;
using Overwrite = FileAgent::Overwrite;

constexpr uint64_t kPlenty = uint64_t{1} << 30;

class FileArchiveTest : public sandglass::testing::AgentFixture {
 protected:
  void MakeTree() {
    std::filesystem::create_directories(At("/t/sub/" + long_name_));
    Put("/t/file", std::string(3'000'000, 'f'));
    Put("/t/sub/" + long_name_ + "/deep", "deep");
    Put("/t/odd\n\xff", "odd");
    Put("/t/empty", "");
    ::chmod(At("/t/file").c_str(), 0751);
    std::filesystem::create_hard_link(At("/t/empty"), At("/t/sub/hard"));
    ASSERT_EQ(::symlink("/etc/passwd", At("/t/link").c_str()), 0);
    ASSERT_EQ(::symlink(std::string(300, 'l').c_str(), At("/t/long").c_str()),
              0);
    ASSERT_EQ(::mkfifo(At("/t/fifo").c_str(), 0644), 0);
    ::chmod(At("/t/sub").c_str(), 0555);
  }

  void ExpectTree(const std::string& top) {
    EXPECT_EQ(Get(top + "/file"), std::string(3'000'000, 'f'));
    EXPECT_EQ(Get(top + "/sub/" + long_name_ + "/deep"), "deep");
    EXPECT_EQ(Get(top + "/odd\n\xff"), "odd");
    EXPECT_EQ(std::filesystem::read_symlink(At(top + "/link")), "/etc/passwd");
    EXPECT_EQ(std::filesystem::read_symlink(At(top + "/long")),
              std::string(300, 'l'));
    EXPECT_FALSE(std::filesystem::exists(At(top + "/fifo")));
    struct stat one = {}, other = {};
    ASSERT_EQ(::stat(At(top + "/empty").c_str(), &one), 0);
    ASSERT_EQ(::stat(At(top + "/sub/hard").c_str(), &other), 0);
    EXPECT_EQ(one.st_ino, other.st_ino);
    for (const char* path : {"/file", "/sub", "/odd\n\xff"}) {
      ASSERT_EQ(::stat(At(std::string("/t") + path).c_str(), &one), 0);
      ASSERT_EQ(::stat(At(top + path).c_str(), &other), 0);
      EXPECT_EQ(one.st_mode, other.st_mode) << path;
      EXPECT_EQ(one.st_mtim.tv_sec, other.st_mtim.tv_sec) << path;
      EXPECT_EQ(one.st_mtim.tv_nsec, other.st_mtim.tv_nsec) << path;
    }
  }

  FileAnswer<TreeCount> Unpack(const std::string& archive,
                               uint64_t max_bytes = kPlenty,
                               uint32_t max_entries = 1000) {
    const absl::StatusOr<os::Fd> file = os::MakeMemfd("tar", archive);
    EXPECT_TRUE(file.ok());
    return agent().Unpack("/to", *file, Parents::kMake, max_bytes, max_entries,
                          limits_);
  }

  const std::string long_name_ = std::string(200, 'n');
};

std::string Member(TarType type, const std::string& path,
                   const std::string& text) {
  TarMember member = {.type = type, .path = path, .mode = 0644};
  if (type == TarType::kFile) {
    member.size = text.size();
    return absl::StrCat(TarHeader(member), text,
                        std::string(TarPadding(text.size()), '\0'));
  }
  member.link = text;
  return TarHeader(member);
}

TEST_F(FileArchiveTest, PacksAndUnpacksThroughAFile) {
  MakeTree();
  Start();
  const absl::StatusOr<os::Fd> archive = os::MakeMemfd("tar", "");
  ASSERT_TRUE(archive.ok());
  const auto packed = agent().Pack("/t", *archive, kPlenty, limits_);
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ(packed.value.entries, 9u);
  EXPECT_EQ(packed.value.left_out, 1u);
  const auto unpacked = agent().Unpack("/to/here", *archive, Parents::kMake,
                                       kPlenty, 1000, limits_);
  ASSERT_TRUE(unpacked.ok()) << FileCodeName(unpacked.result.code);
  EXPECT_EQ(unpacked.value.entries, 9u);
  ExpectTree("/to/here");
  // Over what is there already.
  EXPECT_TRUE(agent()
                  .Unpack("/to/here", *archive, Parents::kMustExist, kPlenty,
                          1000, limits_)
                  .ok());
  ExpectTree("/to/here");
}

TEST_F(FileArchiveTest, PacksIntoAPipeAndOutOfOne) {
  MakeTree();
  Start();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  os::Fd reading(ends[0]), writing(ends[1]);
  std::thread packer([&] {
    EXPECT_TRUE(agent().Pack("/t", writing, kPlenty, limits_).ok());
    writing.reset();
  });
  const auto unpacked =
      agent().Unpack("/to", reading, Parents::kMake, kPlenty, 1000, limits_);
  packer.join();
  EXPECT_TRUE(unpacked.ok());
  ExpectTree("/to");
}

// The format is everybody's.
TEST_F(FileArchiveTest, TarReadsAndWritesTheSame) {
  MakeTree();
  Start();
  const std::string path = dir_.path() + "/a.tar";
  {
    const os::Fd archive(
        ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(agent().Pack("/t", archive, kPlenty, limits_).ok());
  }
  const std::string at = "cd " + dir_.path() + " && ";
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ASSERT_EQ(::system((at + "mkdir by-tar && tar -C by-tar -xf a.tar").c_str()),
            0);
  ExpectTree("/by-tar");
  for (const char* format : {"gnu", "pax", "posix --sort=name"}) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    ASSERT_EQ(::system((at + "rm -rf to && tar -C t --exclude=fifo --format=" +
                        format + " -cf a.tar .")
                           .c_str()),
              0);
    const os::Fd archive(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const auto unpacked =
        agent().Unpack("/to", archive, Parents::kMake, kPlenty, 1000, limits_);
    ASSERT_TRUE(unpacked.ok()) << format << FileCodeName(unpacked.result.code);
    EXPECT_EQ(Get("/to/sub/" + long_name_ + "/deep"), "deep");
    EXPECT_EQ(Get("/to/file").size(), 3'000'000u);
    EXPECT_EQ(std::filesystem::hard_link_count(At("/to/empty")), 2u);
  }
}

TEST_F(FileArchiveTest, ReadsTheNamesOfOlderTars) {
  const std::string half(90, 'h');
  std::filesystem::create_directories(At("/t/" + half + "/" + half));
  Put("/t/" + half + "/" + half + "/f", "text");
  std::filesystem::create_directories(At("/t/d"));
  Put("/t/d/f", "old");
  Start();
  const std::string path = dir_.path() + "/a.tar";
  const std::string pack = "cd " + dir_.path() + " && tar -C t -cf a.tar ";
  const auto unpack = [&] {
    const os::Fd archive(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    return agent()
        .Unpack("/to", archive, Parents::kMake, kPlenty, 1000, limits_)
        .result.code;
  };
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ASSERT_EQ(::system((pack + "--format=ustar .").c_str()), 0);
  EXPECT_EQ(unpack(), FileCode::kOk);
  EXPECT_EQ(Get("/to/" + half + "/" + half + "/f"), "text");
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ASSERT_EQ(::system((pack + "--format=v7 d").c_str()), 0);
  EXPECT_EQ(unpack(), FileCode::kOk);
  EXPECT_EQ(Get("/to/d/f"), "old");
}

TEST_F(FileArchiveTest, RefusesWhatLeadsOut) {
  ASSERT_EQ(::mkdir(At("/to").c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(At("/out").c_str(), 0755), 0);
  Put("/out/secret", "secret");
  ASSERT_EQ(::symlink("/out", At("/to/planted").c_str()), 0);
  Start();
  const std::string bad[] = {
      Member(TarType::kFile, "/out/x", "x"),
      Member(TarType::kFile, "../out/x", "x"),
      Member(TarType::kFile, "a/../../out/x", "x"),
      Member(TarType::kFile, "planted/x", "x"),
      Member(TarType::kDirectory, "planted/d", ""),
      Member(TarType::kSymlink, "own", "/out") +
          Member(TarType::kFile, "own/x", "x"),
      Member(TarType::kSymlink, "up", "..") +
          Member(TarType::kFile, "up/out/x", "x"),
      Member(TarType::kHardLink, "hard", "../out/secret"),
      Member(TarType::kHardLink, "hard", "/out/secret"),
      Member(TarType::kHardLink, "hard", "planted/secret"),
      Member(TarType::kHardLink, "hard", "planted"),
      Member(TarType::kFile, std::string("a\0b", 3), "") +
          Member(TarType::kFile, std::string(300, 'n'), "x"),
  };
  for (const std::string& archive : bad) {
    EXPECT_EQ(Unpack(archive + TarEnd()).result.code, FileCode::kBadArchive)
        << &archive - bad;
  }
  EXPECT_EQ(NamesIn("/out"), 1u);
  EXPECT_EQ(std::filesystem::hard_link_count(At("/out/secret")), 1u);
  // A link in the place of a file or directory gives way.
  ASSERT_TRUE(Unpack(Member(TarType::kFile, "planted", "x") + TarEnd()).ok());
  EXPECT_EQ(Get("/to/planted"), "x");
  EXPECT_EQ(Get("/out/secret"), "secret");
}

TEST_F(FileArchiveTest, LeavesDevicesOutAndRefusesWhatIsNoArchive) {
  Start();
  for (const char type : {'3', '4', '6', 'S', 'V'}) {
    std::string archive = Member(TarType::kFile, "dev", "");
    archive[156] = type;
    archive[154] = ' ';
    unsigned sum = 8 * ' ';
    for (size_t i = 0; i < 512; ++i) {
      if (i < 148 || i >= 156) sum += static_cast<unsigned char>(archive[i]);
    }
    char digits[8];
    std::snprintf(digits, sizeof(digits), "%06o", sum);
    archive.replace(148, 7, digits, 7);
    const auto unpacked = Unpack(archive + TarEnd());
    const bool device = type == '3' || type == '4' || type == '6';
    EXPECT_EQ(unpacked.result.code,
              device ? FileCode::kOk : FileCode::kBadArchive)
        << type;
    EXPECT_EQ(unpacked.value.left_out, device ? 1u : 0u) << type;
    EXPECT_FALSE(std::filesystem::exists(At("/to/dev")));
  }
  EXPECT_EQ(Unpack(std::string(2000, 'x')).result.code, FileCode::kBadArchive);
  EXPECT_EQ(Unpack("").result.code, FileCode::kIncomplete);
  const std::string whole = Member(TarType::kFile, "f", "text");
  EXPECT_EQ(Unpack(whole).result.code, FileCode::kIncomplete);
  EXPECT_EQ(Unpack(whole.substr(0, 514)).result.code, FileCode::kIncomplete);
}

TEST_F(FileArchiveTest, BoundsAnArchive) {
  Put("/big", std::string(100'000, 'b'));
  Start();
  std::string archive;
  for (int i = 0; i < 20; ++i) {
    archive += Member(TarType::kFile, absl::StrCat("f", i), "12345");
  }
  archive += TarEnd();
  EXPECT_TRUE(Unpack(archive, 100, 20).ok());
  EXPECT_EQ(Unpack(archive, 99, 20).result.code, FileCode::kTooLarge);
  EXPECT_EQ(Unpack(archive, 100, 19).result.code, FileCode::kTooLarge);
  const absl::StatusOr<os::Fd> file = os::MakeMemfd("tar", "");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(agent().Pack("/", *file, 50'000, limits_).result.code,
            FileCode::kTooLarge);
}

TEST_F(FileArchiveTest, StopsWhenNobodyReads) {
  MakeTree();
  Start();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const os::Fd reading(ends[0]), writing(ends[1]);
  EXPECT_EQ(
      agent()
          .Pack("/t", writing, kPlenty, {.timeout = absl::Milliseconds(100)})
          .result.code,
      FileCode::kTimedOut);
  EXPECT_TRUE(agent().alive());
  EXPECT_EQ(Stop(), 0);
}

TEST_F(FileArchiveTest, CopiesFilesAndTrees) {
  MakeTree();
  std::filesystem::remove(At("/t/fifo"));
  Start();
  EXPECT_TRUE(agent().Copy("/t", "/new/copy", Parents::kMake, limits_).ok());
  ExpectTree("/new/copy");
  EXPECT_EQ(agent().Copy("/t", "/new/copy", Parents::kMake, limits_).code,
            FileCode::kExists);
  EXPECT_TRUE(agent().Copy("/t/file", "/f", Parents::kMustExist, limits_).ok());
  EXPECT_EQ(Get("/f").size(), 3'000'000u);
  EXPECT_EQ(agent().Copy("/t/file", "/f", Parents::kMustExist, limits_).code,
            FileCode::kExists);
  EXPECT_TRUE(agent().Copy("/t/link", "/l", Parents::kMustExist, limits_).ok());
  EXPECT_EQ(std::filesystem::read_symlink(At("/l")), "/etc/passwd");
  EXPECT_EQ(agent().Copy("/none", "/m", Parents::kMake, limits_).code,
            FileCode::kNotFound);
}

TEST_F(FileArchiveTest, LeavesNothingOfACopyThatFailed) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become another";
  std::filesystem::create_directories(At("/t"));
  Put("/t/a", "a");
  Put("/t/closed", "");
  ::chmod(At("/t/closed").c_str(), 0);
  StartAs(kNobody);
  EXPECT_EQ(agent().Copy("/t", "/copy", Parents::kMustExist, limits_).code,
            FileCode::kPermissionDenied);
  EXPECT_EQ(NamesIn("/"), 1u);
}

}  // namespace
}  // namespace sandglass::sandbox
