// Moves between two mounts, which are copies: nothing is lost by them, and one
// that fails changes nothing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/os/io.h"
#include "tests/support/calls/agent_fixture.h"

namespace sandglass::sandbox {
namespace {

using Overwrite = FileAgent::Overwrite;
using Parents = FileAgent::Parents;

// "/small" is a file system of its own, of 1 MiB.
class FileMoveTest : public sandglass::testing::AgentFixture {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount";
    ASSERT_EQ(::mkdir(At("/small").c_str(), 0755), 0);
    ASSERT_EQ(
        ::mount("none", At("/small").c_str(), "tmpfs", 0, "size=1m,mode=777"),
        0);
  }
  ~FileMoveTest() override {
    Stop();
    ::umount(At("/small").c_str());
  }

  FileCode Move(const std::string& from, const std::string& to,
                Overwrite overwrite = Overwrite::kNo) {
    return agent().Move(from, to, overwrite, Parents::kMustExist, limits_).code;
  }
  void MakeTree(const std::string& top) const {
    std::filesystem::create_directories(At(top + "/sub/closed"));
    Put(top + "/a", "a");
    Put(top + "/sub/b", std::string(300'000, 'b'));
    Put(top + "/sub/closed/c", "c");
    ASSERT_EQ(::symlink("nowhere", At(top + "/link").c_str()), 0);
    ::chmod(At(top + "/sub/closed").c_str(), 0555);
  }
  void ExpectTree(const std::string& top) const {
    EXPECT_EQ(Get(top + "/a"), "a");
    EXPECT_EQ(Get(top + "/sub/b"), std::string(300'000, 'b'));
    EXPECT_EQ(Get(top + "/sub/closed/c"), "c");
    EXPECT_EQ(std::filesystem::read_symlink(At(top + "/link")), "nowhere");
    EXPECT_EQ(InfoOf(top + "/sub/closed").st_mode & 0777, 0555u);
  }
  struct stat InfoOf(const std::string& path) const {
    struct stat info = {};
    EXPECT_EQ(::lstat(At(path).c_str(), &info), 0) << path;
    return info;
  }
  bool IsThere(const std::string& path) const {
    struct stat info = {};
    return ::lstat(At(path).c_str(), &info) == 0;
  }
  os::Fd Open(const std::string& path, int flags) const {
    return os::Fd(::open(At(path).c_str(), flags | O_CLOEXEC));
  }
};

TEST_F(FileMoveTest, MovesFilesLinksAndTreesThereAndBack) {
  MakeTree("/t");
  Put("/f", "text");
  ::chmod(At("/f").c_str(), 0640);
  ASSERT_EQ(::symlink("/f", At("/l").c_str()), 0);
  Start();
  const struct stat before = InfoOf("/f");
  // Who reads a file doesn't mind.
  const os::Fd reader = Open("/t/a", O_RDONLY);
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>("", "/small"), {"/small", ""}}) {
    for (const char* name : {"/t", "/f", "/l"}) {
      EXPECT_EQ(Move(from + name, to + name), FileCode::kOk) << from << name;
      EXPECT_FALSE(IsThere(from + name));
    }
    ExpectTree(to + "/t");
    EXPECT_EQ(Get(to + "/f"), "text");
    const struct stat after = InfoOf(to + "/f");
    EXPECT_EQ(after.st_mode, before.st_mode);
    EXPECT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    EXPECT_EQ(std::filesystem::read_symlink(At(to + "/l")), "/f");
  }
  // Nothing is left under a name of the agent's.
  EXPECT_EQ(NamesIn("/"), 4u);
  EXPECT_EQ(NamesIn("/small"), 0u);
}

TEST_F(FileMoveTest, ReplacesOnlyWhenToldTo) {
  Put("/f", "new");
  Put("/small/f", "old");
  ASSERT_EQ(::mkdir(At("/d").c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(At("/small/d").c_str(), 0755), 0);
  Start();
  EXPECT_EQ(Move("/f", "/small/f"), FileCode::kExists);
  EXPECT_EQ(Get("/small/f"), "old");
  EXPECT_EQ(Move("/f", "/small/d", Overwrite::kYes), FileCode::kIsDirectory);
  EXPECT_EQ(Move("/d", "/small/f", Overwrite::kYes), FileCode::kNotDirectory);
  EXPECT_EQ(Get("/f"), "new");
  EXPECT_EQ(Move("/f", "/small/f", Overwrite::kYes), FileCode::kOk);
  EXPECT_EQ(Get("/small/f"), "new");
  EXPECT_EQ(Move("/d", "/small/d", Overwrite::kYes), FileCode::kOk);
  EXPECT_EQ(NamesIn("/"), 1u);
  EXPECT_EQ(NamesIn("/small"), 2u);
}

TEST_F(FileMoveTest, AMoveThatDoesNotFitLeavesBothAsTheyWere) {
  MakeTree("/t");
  Put("/t/z", std::string(2'000'000, 'z'));
  Put("/f", std::string(2'000'000, 'f'));
  ASSERT_EQ(::mkdir(At("/small/t").c_str(), 0755), 0);
  Put("/small/f", "old");
  Start();
  const ino_t directory = InfoOf("/small/t").st_ino;
  EXPECT_EQ(Move("/t", "/small/t", Overwrite::kYes), FileCode::kNoSpace);
  EXPECT_EQ(Move("/f", "/small/f", Overwrite::kYes), FileCode::kNoSpace);
  EXPECT_EQ(InfoOf("/small/t").st_ino, directory);
  EXPECT_EQ(Get("/small/f"), "old");
  ExpectTree("/t");
  EXPECT_EQ(Get("/t/z").size(), 2'000'000u);
  EXPECT_EQ(NamesIn("/"), 3u);
  EXPECT_EQ(NamesIn("/small"), 2u);
}

TEST_F(FileMoveTest, AMoveThatWillFailIsNotCopied) {
  const std::string large(2'000'000, 'z');
  MakeTree("/t");
  Put("/t/0", large);
  Put("/f", large);
  Put("/small/f", "old");
  std::filesystem::create_directories(At("/small/d/below"));
  Start();
  EXPECT_EQ(Move("/f", "/small/d", Overwrite::kYes), FileCode::kIsDirectory);
  EXPECT_EQ(Move("/t", "/small/f", Overwrite::kYes), FileCode::kNotDirectory);
  EXPECT_EQ(Move("/t", "/small/d", Overwrite::kYes), FileCode::kNotEmpty);
  {
    const os::Fd writer = Open("/t/sub/closed/c", O_WRONLY);
    EXPECT_EQ(Move("/t", "/small/t"), FileCode::kBusyChanged);
  }
  // The copy itself would say that it has no room.
  EXPECT_EQ(Move("/t", "/small/t"), FileCode::kNoSpace);
  EXPECT_EQ(NamesIn("/"), 3u);
  EXPECT_EQ(NamesIn("/small"), 2u);
}

// The files are another's, so that no lease of them is to be had either.
TEST_F(FileMoveTest, FilesThatCannotBeRemovedAreNotMoved) {
  ASSERT_EQ(::mkdir(At("/roots").c_str(), 0755), 0);
  Put("/roots/f", "new");
  Put("/small/f", "old");
  ASSERT_EQ(::mkdir(At("/mine").c_str(), 0755), 0);
  MakeTree("/mine/t");
  ASSERT_EQ(::chown(At("/small/f").c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(::chown(At("/mine").c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(::chown(At("/mine/t").c_str(), kNobody, kNobody), 0);
  StartAs(kNobody);
  EXPECT_EQ(Move("/roots/f", "/small/f", Overwrite::kYes),
            FileCode::kPermissionDenied);
  EXPECT_EQ(Get("/small/f"), "old");
  EXPECT_EQ(Get("/roots/f"), "new");
  EXPECT_EQ(Move("/mine/t", "/small/t"), FileCode::kPermissionDenied);
  ExpectTree("/mine/t");
  EXPECT_EQ(NamesIn("/mine"), 1u);
  EXPECT_EQ(NamesIn("/small"), 1u);
}

// Its names can be read and no more: none of its files may count as copied.
TEST_F(FileMoveTest, ADirectoryThatCanNotBeEnteredStays) {
  std::filesystem::create_directories(At("/t/d"));
  Put("/t/d/f", "text");
  ASSERT_EQ(::chown(At("/t").c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(::chown(At("/t/d").c_str(), kNobody, kNobody), 0);
  ::chmod(At("/t/d").c_str(), 0600);
  StartAs(kNobody);
  EXPECT_EQ(Move("/t", "/small/t"), FileCode::kPermissionDenied);
  EXPECT_EQ(Get("/t/d/f"), "text");
  EXPECT_EQ(NamesIn("/small"), 0u);
}

TEST_F(FileMoveTest, WritesOfAProgramDuringAMoveStay) {
  MakeTree("/t");
  Put("/f", "one\n");
  Put("/small/f", "old");
  Start();
  for (const int how : {O_WRONLY | O_APPEND, O_RDWR}) {
    const os::Fd file = Open("/f", how), below = Open("/t/sub/closed/c", how);
    EXPECT_EQ(Move("/f", "/small/f", Overwrite::kYes), FileCode::kBusyChanged);
    EXPECT_EQ(Move("/t", "/small/t"), FileCode::kBusyChanged);
    EXPECT_EQ(Get("/f"), "one\n");
    EXPECT_EQ(Get("/small/f"), "old");
    ExpectTree("/t");
    EXPECT_EQ(NamesIn("/"), 3u);
    EXPECT_EQ(NamesIn("/small"), 1u);
  }
  EXPECT_EQ(Move("/f", "/small/f", Overwrite::kYes), FileCode::kOk);
  EXPECT_EQ(Move("/t", "/small/t"), FileCode::kOk);
  ExpectTree("/small/t");
}

TEST_F(FileMoveTest, NoLineIsLostWhileItsFileMovesToAndFro) {
  constexpr int kLines = 800;
  for (const bool tree : {false, true}) {
    const std::string name = tree ? "/t" : "/log";
    const std::string log = tree ? "/t/log" : "/log";
    if (tree) MakeTree("/t");
    Put(log, "");
    Start();
    std::atomic<bool> done = false;
    // A program that looks for its log for each line.
    std::thread program([&] {
      for (int i = 0; i < kLines; ++i) {
        os::Fd file;
        while (!file.valid()) {
          file = Open(log, O_WRONLY | O_APPEND);
          if (!file.valid()) file = Open("/small" + log, O_WRONLY | O_APPEND);
        }
        EXPECT_TRUE(os::WriteAll(file.get(), absl::StrCat("<", i, ">\n")));
        file.reset();
        if (i % 16 == 0) ::usleep(30'000);
      }
      done = true;
    });
    std::string from, to = "/small";
    int moved = 0;
    while (!done) {
      const FileCode code = Move(from + name, to + name);
      if (code == FileCode::kOk) {
        std::swap(from, to);
        ++moved;
      } else {
        EXPECT_EQ(code, FileCode::kBusyChanged);
      }
    }
    program.join();
    std::string expected;
    for (int i = 0; i < kLines; ++i) absl::StrAppend(&expected, "<", i, ">\n");
    EXPECT_EQ(Get(from + log), expected);
    EXPECT_FALSE(IsThere(to + name));
    EXPECT_GT(moved, 0);
    RecordProperty(tree ? "trees_moved" : "files_moved", moved);
    std::filesystem::remove_all(At(from + name));
    EXPECT_EQ(NamesIn("/"), 1u);
    EXPECT_EQ(NamesIn("/small"), 0u);
    EXPECT_EQ(Stop(), 0);
  }
}

}  // namespace
}  // namespace sandglass::sandbox
