// What a process that unpacks can't do, whoever has taken it over, and what it
// and the daemon say to each other.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "sandbox/os/landlock.h"
#include "sandbox/wire/file_code.h"
#include "server/libraries/unpack_process.h"
#include "tests/support/temp_dir.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;
using sandbox::FileCode;

constexpr uid_t kUid = 54321;
constexpr gid_t kGid = 54322;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

// What somebody can do who has taken over a process that unpacks: errno of
// `act` behind the walls.
class UnpackWallsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::permissions(directory_.path(), fs::perms(0755));
    for (const std::string& path : {trees(), tree()}) {
      ASSERT_EQ(::mkdir(path.c_str(), 0755), 0);
      ASSERT_EQ(::chown(path.c_str(), kUid, kGid), 0);
    }
    testing::WriteFile(outside(), "mine");
    ASSERT_EQ(::chown(outside().c_str(), kUid, kGid), 0);
  }

  std::string trees() const { return directory_.Path("trees"); }
  std::string tree() const { return trees() + "/tree"; }
  // A file of the same user that lies beside the trees.
  std::string outside() const { return directory_.Path("outside"); }

  int Behind(const std::function<bool(int top)>& act) {
    const os::Fd top(
        ::open(tree().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
      const os::Fd archive(::memfd_create("tar", MFD_CLOEXEC));
      const os::Fd answer(::memfd_create("answer", MFD_CLOEXEC));
      const UnpackOrder order = {.max_bytes = 1 << 20,
                                 .max_files = 10,
                                 .memory_bytes = uint64_t{1} << 30,
                                 .cpu_seconds = 10};
      const absl::StatusOr<UnpackWalls> walls = UnpackWalls::Prepare();
      if (!walls.ok() || ::setresgid(kGid, kGid, kGid) != 0 ||
          ::setresuid(kUid, kUid, kUid) != 0 ||
          ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
          !walls->Raise(order, parent, archive, top, answer)) {
        ::_exit(255);
      }
      ::_exit(act(top.get()) ? 0 : errno);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << status;
    return WEXITSTATUS(status);
  }

  const testing::TempDir directory_;
};

TEST_F(UnpackWallsTest, OnlyTheTreeIsWrittenAndNothingRead) {
  const auto opens = [this](const std::string& path, int flags) {
    return Behind([&](int) { return ::open(path.c_str(), flags, 0600) >= 0; });
  };
  EXPECT_EQ(opens(tree() + "/new", O_WRONLY | O_CREAT), 0);
  EXPECT_EQ(Behind([](int top) {
              const int file = ::openat(top, "new", O_WRONLY);
              return file >= 0 && ::fchmod(file, 0644) == 0 &&
                     ::futimens(file, nullptr) == 0 &&
                     ::ftruncate(file, 100) == 0 &&
                     ::mkdirat(top, "d", 0755) == 0 &&
                     ::linkat(top, "new", top, "also", 0) == 0 &&
                     ::symlinkat("/", top, "link") == 0 &&
                     ::unlinkat(top, "also", 0) == 0;
            }),
            0);
  if (os::LandlockAbi() < 1) GTEST_SKIP() << "the kernel is too old";
  EXPECT_EQ(opens(tree() + "/new", O_RDONLY), EACCES);
  EXPECT_EQ(opens(outside(), O_RDONLY), EACCES);
  EXPECT_EQ(opens(outside(), O_WRONLY), EACCES);
  EXPECT_EQ(opens(tree() + "/link/etc/passwd", O_RDONLY), EACCES);
  EXPECT_EQ(opens("/etc/passwd", O_RDONLY), EACCES);
  EXPECT_EQ(opens("/proc/self/status", O_RDONLY), EACCES);
  EXPECT_EQ(opens("/tmp/sandglass-unpack-test", O_WRONLY | O_CREAT), EACCES);
  EXPECT_EQ(opens(trees(), O_RDONLY | O_DIRECTORY), EACCES);
  EXPECT_EQ(Behind([&](int) { return ::unlink(outside().c_str()) == 0; }),
            kSanitized ? EACCES : ENOSYS);
  EXPECT_EQ(
      Behind([&](int top) { return ::unlinkat(top, "../../outside", 0) == 0; }),
      EACCES);
  // EXDEV where the right to link across directories is governed.
  EXPECT_NE(Behind([&](int top) {
              return ::linkat(top, "../../outside", top, "mine", 0) == 0;
            }),
            0);
  EXPECT_EQ(testing::ReadFile(outside()), "mine");
}

TEST_F(UnpackWallsTest, NoCallIsLeftThatIsNotNeeded) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer's runtime doesn't go with it";
  const std::vector<std::function<bool(int)>> refused = {
      [](int) { return ::fork() >= 0; },
      [](int) { return ::socket(AF_INET, SOCK_STREAM, 0) >= 0; },
      [](int) { return ::socket(AF_UNIX, SOCK_STREAM, 0) >= 0; },
      [](int) { return ::kill(::getppid(), 0) == 0; },
      // What abort(3) calls; nobody has this number.
      [](int) {
        constexpr pid_t kNobody = 1 << 22;
        return ::syscall(SYS_tgkill, kNobody, kNobody, SIGABRT) == 0;
      },
      [](int) {
        char* argv[] = {nullptr};
        return ::execve("/bin/true", argv, argv) == 0;
      },
      // By paths, which Landlock doesn't look at for these.
      [this](int) { return ::chmod(outside().c_str(), 0777) == 0; },
      [this](int) {
        return ::fchmodat(AT_FDCWD, outside().c_str(), 0777, 0) == 0;
      },
      [this](int) {
        return ::utimensat(AT_FDCWD, outside().c_str(), nullptr, 0) == 0;
      },
      [this](int) { return ::truncate(outside().c_str(), 0) == 0; },
      [this](int) { return ::chown(outside().c_str(), kUid, kGid) == 0; },
      [](int top) { return ::renameat(top, "new", top, "other") == 0; },
      [](int top) { return ::mkfifoat(top, "fifo", 0600) == 0; },
      [](int) { return ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0; },
      [](int) {
        return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
      }};
  for (size_t i = 0; i < refused.size(); ++i) {
    EXPECT_THAT(Behind(refused[i]), ::testing::AnyOf(ENOSYS, EPERM)) << i;
  }
}

TEST(UnpackMessages, AreTakenOnlyInTheirRanges) {
  const std::optional<UnpackOrder> order =
      UnpackOrder::Parse(UnpackOrder{1, 2, 3, 4}.ToText());
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->max_bytes, 1U);
  EXPECT_EQ(order->cpu_seconds, 4U);
  for (const char* text : {"", "1 2 3", "1 2 3 4 5", "1 2 3 -4", "1 2 3 x"}) {
    EXPECT_FALSE(UnpackOrder::Parse(text).has_value()) << text;
  }
  using Kind = UnpackAnswer::Kind;
  const std::optional<UnpackAnswer> answer = UnpackAnswer::Parse(
      UnpackAnswer{Kind::kDone, static_cast<int>(FileCode::kNoSpace), ENOSPC}
          .ToText());
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->kind, Kind::kDone);
  EXPECT_EQ(answer->error, ENOSPC);
  for (const char* text : {"", "0", "0 0", "4 0 0", "-1 0 0", "0 -1 0",
                           "0 25 0", "0 0 -1", "0 0 4096", "0 0 0 0"}) {
    EXPECT_FALSE(UnpackAnswer::Parse(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace sandglass::server
