// Daemons side by side on one machine that don't know of each other, as in
// containers that have the host's control groups.

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr absl::Duration kSettle = absl::Seconds(10);

class TwoDaemons : public ::testing::Test {
 protected:
  static void ExpectRuns(Daemon& daemon) {
    EXPECT_THAT(daemon.client().Run(Bash("echo here")),
                OutcomeIs(v1::OUTCOME_OK))
        << daemon.LogTail();
  }
  static void ExpectStops(Daemon& daemon) {
    const absl::Status stopped = daemon.Stop();
    EXPECT_TRUE(stopped.ok()) << stopped.message();
  }
};

// A child of the test that sleeps, in a control group.
class Sleeper {
 public:
  explicit Sleeper(const std::string& group) {
    pid_ = fork();
    if (pid_ == 0) {
      pause();
      _exit(0);
    }
    std::ofstream(group + "/cgroup.procs") << pid_;
  }
  ~Sleeper() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    Ended();
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  bool Ended() {
    if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
    return pid_ < 0;
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

TEST_F(TwoDaemons, WithStateDirectoriesOfOnePathLetEachOtherBe) {
  const std::string place = MakeTestDirectory();
  const std::string at = place + "/state";
  ASSERT_TRUE(fs::create_directory(at));
  auto first = Daemon::Start({.state_seen_at = at});
  ASSERT_TRUE(first.ok()) << first.status().message();
  auto second = Daemon::Start({.state_seen_at = at});
  ASSERT_TRUE(second.ok()) << second.status().message();
  ExpectRuns(**first);
  ExpectRuns(**second);
  (*first)->Remember();
  (*second)->Remember();
  for (const std::string& group : (*second)->groups()) {
    EXPECT_THAT((*first)->groups(), ::testing::Not(::testing::Contains(group)));
  }
  // What one leaves is its own only, for a next one and for --sweep.
  (*second)->Signal(SIGKILL);
  ASSERT_TRUE((*second)->Wait(kSettle).has_value());
  auto third =
      Daemon::Start({.directory = (*second)->directory(), .state_seen_at = at});
  ASSERT_TRUE(third.ok()) << third.status().message();
  ExpectRuns(**third);
  ExpectRuns(**first);
  ExpectStops(**third);
  ExpectRuns(**first);
  ExpectStops(**first);
  fs::remove_all(place);
}

// A container's image, or a backup, may have one that was in use.
TEST_F(TwoDaemons, ACopyOfAStateDirectoryInUseLeavesItsDaemonAlone) {
  auto first = Daemon::Start();
  ASSERT_TRUE(first.ok()) << first.status().message();
  const std::string directory = MakeTestDirectory();
  fs::create_directory(directory + "/state");
  fs::copy((*first)->directory() + "/state/cgroups",
           directory + "/state/cgroups");
  {
    auto second = Daemon::Start({.directory = directory});
    ASSERT_TRUE(second.ok()) << second.status().message();
    EXPECT_THAT((*second)->LogTail(1000), HasSubstr("control_groups_left"));
    ExpectRuns(**first);
    ExpectRuns(**second);
    ExpectStops(**second);
  }
  ExpectRuns(**first);
  ExpectStops(**first);
  fs::remove_all(directory);
}

// As an upgrade finds what a daemon left that named it after the path alone.
TEST_F(TwoDaemons, GroupsOfAnotherNameAreSweptUnlessADaemonLivesThere) {
  auto daemon = Daemon::Start();
  ASSERT_TRUE(daemon.ok()) << daemon.status().message();
  ExpectStops(**daemon);
  std::string parent;
  for (const std::string& group : GroupsOf(getpid())) {
    const std::string directory = GroupDirectory(group);
    if (group.substr(0, 1) == ":" && !directory.empty()) parent = directory;
  }
  ASSERT_FALSE(parent.empty());
  const std::string list = (*daemon)->directory() + "/state/cgroups";
  const std::string root =
      absl::StrCat(parent, "/sandglass-0123", getpid() % 10000);
  const auto make = [&] {
    fs::create_directories(root + "/server");
    fs::create_directories(root + "/yard/spawner");
    std::ofstream(list) << root << "\n";
  };
  make();
  {
    Sleeper left(root + "/yard/spawner");
    EXPECT_TRUE((*daemon)->Sweep().ok());
    EXPECT_TRUE(WaitUntil([&] { return left.Ended(); }, kSettle));
    EXPECT_FALSE(fs::exists(root));
  }
  make();
  {
    Sleeper lives(root + "/server");
    Sleeper jail(root + "/yard/spawner");
    EXPECT_FALSE((*daemon)->Sweep().ok());
    EXPECT_FALSE(lives.Ended());
    EXPECT_FALSE(jail.Ended());
    EXPECT_TRUE(fs::exists(root));
  }
  // Not its any more, and so nothing is done to it.
  EXPECT_TRUE((*daemon)->Sweep().ok());
  EXPECT_TRUE(fs::exists(root));
  make();
  EXPECT_TRUE(WaitUntil([&] { return (*daemon)->Sweep().ok(); }, kSettle));
  EXPECT_FALSE(fs::exists(root));
}

TEST_F(TwoDaemons, WithTheSameIdsTheSecondIsRefusedAndNamesTheSetting) {
  const std::string config =
      R"({"uid_base": 3980000000, "user": "1879048191:1879048191"})";
  auto first = Daemon::Start({.config = config});
  ASSERT_TRUE(first.ok()) << first.status().message();
  // It would have ids of both ends of it.
  for (const char* base : {"3980000000", "3980065535", "3979934465"}) {
    const auto second = Daemon::Start(
        {.config = absl::StrCat(R"({"uid_base": )", base,
                                R"(, "user": "1879048191:1879048191"})")});
    ASSERT_FALSE(second.ok()) << base;
    const std::string message(second.status().message());
    EXPECT_THAT(message, HasSubstr("uid_base: of the ids "));
    EXPECT_THAT(message, HasSubstr("another sandglassd (pid "));
    EXPECT_THAT(message, HasSubstr("another uid_base, for example "));
  }
  ExpectRuns(**first);
  ExpectStops(**first);
  // Nothing is kept of it.
  auto next = Daemon::Start({.config = config});
  ASSERT_TRUE(next.ok()) << next.status().message();
  ExpectStops(**next);
}

}  // namespace
}  // namespace sandglass::testing
