// A file agent whose processes have something happen to them in one moment.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "sandbox/files/file_agent_client.h"
#include "sandbox/os/clocks.h"
#include "tests/security/host/fault_injector.h"
#include "tests/support/calls/agent_fixture.h"

namespace sandglass::sandbox {
namespace {

using Occurrences = FileAgent::Occurrences;

class FileAgentFaultsTest : public sandglass::testing::AgentFixture {
 protected:
  using Injector = sandglass::testing::FaultInjector;

  // With a thread of its own, whose calls alone, and those of what it starts,
  // the injector gets to see for good.
  void WithInjector(const std::vector<int>& calls,
                    const std::function<void(Injector&)>& body) {
    std::thread([&] {
      Injector injector(calls);
      if (!injector.ok()) GTEST_SKIP() << "needs root to have calls fail";
      body(injector);
      // The agent has to have ended before the injector goes.
      Stop();
    }).join();
  }

  // Whether the agent ends, without which Stop would wait.
  bool EndsWithin(absl::Duration patience) {
    agent_.reset();
    const absl::Time until = os::SteadyNow() + patience;
    while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
      if (os::SteadyNow() > until) return false;
      ::poll(nullptr, 0, 10);
    }
    pid_ = 0;
    return true;
  }
};

TEST_F(FileAgentFaultsTest, AStoppedWriterOfAnEditHoldsNobodyUp) {
  Put("/f", "one two\n");
  WithInjector({SYS_ftruncate}, [this](Injector& injector) {
    Start();
    // The last that the writer does.
    std::atomic<pid_t> writer = 0;
    injector.Arm(SYS_ftruncate, 0, 1, [&writer](pid_t thread) {
      if (writer.exchange(thread) == 0) ::kill(thread, SIGSTOP);
      return true;
    });
    FileLimits limits;
    limits.timeout = absl::Seconds(1);
    const FileCode code =
        agent().Edit("/f", "two", "2", Occurrences::kOne, limits).result.code;
    EXPECT_EQ(code, FileCode::kTimedOut);
    EXPECT_NE(writer, 0);
    // It is given two seconds.
    EXPECT_TRUE(EndsWithin(absl::Seconds(10)));
    if (writer != 0) ::kill(writer, SIGKILL);
    EXPECT_EQ(Get("/f"), "one 2\n");
    injector.Disarm();
  });
}

// "/small" is a file system of its own.
class FileMoveFaultsTest : public FileAgentFaultsTest {
 protected:
  // Calls of renameat2(2) of a move: the agent's own, which finds that there
  // are two file systems, and those of its process.
  static constexpr int kHide = 2;
  static constexpr int kTakePlace = 3;

  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount";
    ASSERT_EQ(::mkdir(At("/small").c_str(), 0755), 0);
    ASSERT_EQ(::mount("none", At("/small").c_str(), "tmpfs", 0, "size=1m"), 0);
  }
  ~FileMoveFaultsTest() override {
    Stop();
    ::umount(At("/small").c_str());
  }

  // One that fails with `error` (0: doesn't) at the `nth` of these calls, just
  // before which `meanwhile` happens.
  FileCode Move(Injector& injector, const std::string& from,
                const std::string& to, int call, int nth, int error,
                const std::function<void()>& meanwhile) {
    injector.Arm(call, error, nth,
                 [nth, seen = 0, &meanwhile](pid_t /*thread*/) mutable {
                   if (++seen == nth) meanwhile();
                   return true;
                 });
    const FileCode code = agent()
                              .Move(from, to, FileAgent::Overwrite::kNo,
                                    FileAgent::Parents::kMustExist, limits_)
                              .code;
    EXPECT_GE(injector.Disarm(), nth);
    return code;
  }
  bool IsThere(const std::string& path) const {
    struct stat info = {};
    return ::lstat(At(path).c_str(), &info) == 0;
  }
};

TEST_F(FileMoveFaultsTest, ASourceWhoseNameIsTakenMeanwhileGetsOneLikeIt) {
  WithInjector({SYS_renameat2}, [this](Injector& injector) {
    Start();
    Put("/f", "first");
    const auto move_file = [&] {
      return Move(injector, "/f", "/small/f", SYS_renameat2, kTakePlace, EIO,
                  [this] { Put("/f", "second"); });
    };
    EXPECT_EQ(move_file(), FileCode::kFailed);
    EXPECT_EQ(Get("/f"), "second");
    EXPECT_EQ(Get("/f.moved-back"), "first");
    EXPECT_EQ(move_file(), FileCode::kFailed);
    EXPECT_EQ(Get("/f.moved-back.2"), "second");
    const std::string longest(255, 't');
    for (const std::string& name : {std::string("t"), longest}) {
      const std::string tree = "/" + name;
      std::filesystem::create_directory(At(tree));
      Put(tree + "/a", "a");
      EXPECT_EQ(Move(injector, tree, "/small/t", SYS_renameat2, kTakePlace, EIO,
                     [&] { std::filesystem::create_directory(At(tree)); }),
                FileCode::kFailed);
      EXPECT_EQ(Get(tree.substr(0, 256 - 11) + ".moved-back/a"), "a");
      EXPECT_EQ(NamesIn(tree), 0u);
    }
    // "/f" and two that were before it, two trees and what came, "/small".
    EXPECT_EQ(NamesIn("/"), 8u);
    EXPECT_EQ(NamesIn("/small"), 0u);
  });
}

TEST_F(FileMoveFaultsTest, ATreeIsComparedBeforeItIsHidden) {
  std::filesystem::create_directory(At("/t"));
  Put("/t/a", "a");
  WithInjector({SYS_renameat2}, [this](Injector& injector) {
    Start();
    EXPECT_EQ(
        Move(injector, "/t", "/small/t", SYS_renameat2, kHide, 0,
             [this] {
               // Its file is kept from writers already.
               const os::Fd file(::open(At("/t/a").c_str(),
                                        O_WRONLY | O_NONBLOCK | O_CLOEXEC));
               EXPECT_FALSE(file.valid());
               EXPECT_EQ(errno, EWOULDBLOCK);
             }),
        FileCode::kBusyChanged);
    EXPECT_EQ(Get("/t/a"), "a");
    EXPECT_EQ(NamesIn("/"), 2u);
    EXPECT_EQ(NamesIn("/small"), 0u);
  });
}

TEST_F(FileMoveFaultsTest, AMoveIsDoneOnceItsCopyHasItsPlace) {
  // Without entries, so that the first removal is that of the source itself.
  std::filesystem::create_directory(At("/t"));
  WithInjector({SYS_unlinkat}, [this](Injector& injector) {
    Start();
    const os::Fd program(
        ::open(At("/t").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(Move(injector, "/t", "/small/t", SYS_unlinkat, 1, 0,
                   [&program] {
                     const os::Fd late(::openat(program.get(), "late",
                                                O_WRONLY | O_CREAT | O_CLOEXEC,
                                                0600));
                     EXPECT_TRUE(late.valid());
                   }),
              FileCode::kOk);
    EXPECT_EQ(NamesIn("/small/t"), 0u);
    EXPECT_TRUE(IsThere("/t/late"));
    EXPECT_EQ(NamesIn("/"), 2u);
  });
}

}  // namespace
}  // namespace sandglass::sandbox
