// What real yards say that they have.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "sandbox/os/clocks.h"
#include "sandbox/os/process.h"
#include "tests/jail/session_fixture.h"

namespace sandglass::sandbox {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kPatience = absl::Seconds(30);
// As the fixture and the spawner have them.
constexpr uint32_t kSpares = 2;
constexpr uint32_t kSpareGroups = 4;

YardStock Stock(const std::string& kind = kExecKind) {
  for (YardStock& stock : g_sandbox->CollectStock(kPatience)) {
    if (stock.kind == kind) return std::move(stock);
  }
  ADD_FAILURE() << "no stock of " << kind;
  return {};
}

std::string Text(const YardStock& stock) {
  return absl::StrCat(
      stock.kind, ": ", stock.jails, " jails, ", stock.spares, " spares, ",
      stock.ending, " ending (", absl::FormatDuration(stock.longest_ending),
      "), ", stock.groups, " groups, ", stock.stray_groups, " of them strays, ",
      stock.processes, " processes, ", stock.open_descriptors, " descriptors, ",
      stock.mounts, " mounts, ", stock.zygote_starts, " zygotes, ",
      stock.zygote_deaths, " died, serves: ", stock.zygote_serves);
}

// Takes stock until it is so; fails the test when it never is.
YardStock AwaitStock(const std::function<bool(const YardStock&)>& is_so,
                     const std::string& kind = kExecKind) {
  const absl::Time end = os::SteadyNow() + kPatience;
  for (;;) {
    YardStock stock = Stock(kind);
    if (is_so(stock)) return stock;
    if (os::SteadyNow() > end || ::testing::Test::HasFailure()) {
      ADD_FAILURE() << "it never came: " << Text(stock);
      return stock;
    }
    absl::SleepFor(absl::Milliseconds(5));
  }
}

// All that is made ahead is there, and nothing else.
bool IsAtRest(const YardStock& stock) {
  return stock.jails == 0 && stock.ending == 0 && stock.spares == kSpares &&
         stock.groups == kSpares + kSpareGroups;
}

// The jail's group on the v2 hierarchy; its yard's is the parent.
std::filesystem::path GroupOf(TestSession& session) {
  return std::filesystem::path(
             TestSession::RunDirectory(session.Started(Shell("sleep 1000"))))
      .parent_path();
}

std::filesystem::path YardGroup() {
  TestSession session;
  return GroupOf(session).parent_path();
}

// Of the Python yard; 0 when there is none.
pid_t FindZygote() {
  std::ifstream file(YardGroup().parent_path() / "yard-python" / "spawner" /
                     "cgroup.procs");
  for (pid_t pid = 0; file >> pid;) {
    std::error_code error;
    const auto program = std::filesystem::read_symlink(
        absl::StrCat("/proc/", pid, "/exe"), error);
    if (absl::StartsWith(program.filename().string(), "python")) return pid;
  }
  return 0;
}

TEST(YardStock, IsToldOfEachYardByItsKind) {
  std::vector<std::string> kinds;
  for (const YardStock& stock : g_sandbox->CollectStock(kPatience)) {
    kinds.push_back(stock.kind);
    EXPECT_GE(stock.processes, 1u) << Text(stock);
    EXPECT_GE(stock.open_descriptors, 3u) << Text(stock);
    EXPECT_GE(stock.mounts, 2u) << Text(stock);
  }
  EXPECT_THAT(kinds, ElementsAre(kExecKind, kPythonKind));
}

TEST(YardStock, CountsJailsThatAreMadeAndLeavesNothingOfThem) {
  constexpr uint32_t kJails = 3;
  ReadyJail();  // the first ones of a yard may set something up
  const YardStock before = AwaitStock(IsAtRest);
  EXPECT_EQ(before.stray_groups, 0u);
  EXPECT_EQ(before.longest_ending, absl::ZeroDuration());
  std::vector<std::unique_ptr<Jail>> jails;
  for (uint32_t i = 0; i < kJails; ++i) jails.push_back(ReadyJail());
  const YardStock with = AwaitStock([](const YardStock& stock) {
    return stock.spares == kSpares &&
           stock.groups == kJails + kSpares + kSpareGroups;
  });
  EXPECT_EQ(with.jails, kJails);
  EXPECT_EQ(with.ending, 0u);
  EXPECT_EQ(with.stray_groups, 0u);
  EXPECT_EQ(with.processes, before.processes + kJails);  // their inits
  EXPECT_GT(with.open_descriptors, before.open_descriptors);
  EXPECT_EQ(with.mounts, before.mounts);
  jails.clear();
  const YardStock after = AwaitStock(IsAtRest);
  EXPECT_EQ(after.stray_groups, 0u);
  EXPECT_EQ(after.processes, before.processes);
  EXPECT_EQ(after.open_descriptors, before.open_descriptors);
  EXPECT_EQ(after.mounts, before.mounts);
}

TEST(YardStock, CountsProcessesOfJails) {
  TestSession session;
  const YardStock before = AwaitStock([](const YardStock& stock) {
    return stock.spares == kSpares && stock.ending == 0;
  });
  ProcessSpec sleep = Shell("");
  sleep.argv = {"sleep", "1000"};
  session.Started(sleep);
  session.Started(sleep);
  AwaitStock([&](const YardStock& stock) {
    return stock.processes == before.processes + 2;
  });
}

TEST(YardStock, CountsAGroupThatIsNoJailsAsStray) {
  const std::filesystem::path yard = YardGroup();
  const YardStock before = AwaitStock(IsAtRest);
  EXPECT_EQ(before.stray_groups, 0u);
  const std::filesystem::path stray = yard / "jail-left-behind";
  ASSERT_EQ(::mkdir(stray.c_str(), 0755), 0) << errno;
  const YardStock with = Stock();
  EXPECT_EQ(with.stray_groups, 1u) << Text(with);
  EXPECT_EQ(with.groups, before.groups + 1) << Text(with);
  ASSERT_EQ(::rmdir(stray.c_str()), 0) << errno;
  const YardStock after = Stock();
  EXPECT_EQ(after.stray_groups, 0u) << Text(after);
  EXPECT_EQ(after.groups, before.groups) << Text(after);
}

TEST(YardStock, AGroupThatCannotBeMadeIsUndoneAndTriedLessOften) {
  const std::filesystem::path yard = YardGroup();
  AwaitStock(IsAtRest);
  const uint64_t failed_before = Stock().setup_failures;
  // <jail> can be made, and <jail>/run can't.
  std::ofstream(yard / "cgroup.max.depth") << "1" << std::flush;
  std::vector<std::unique_ptr<Jail>> jails;
  for (uint32_t i = 0; i < kSpares; ++i) jails.push_back(ReadyJail());
  const YardStock failing =
      AwaitStock([](const YardStock& stock) { return !stock.failing.empty(); });
  EXPECT_THAT(failing.failing, ::testing::HasSubstr("/run"));
  EXPECT_GT(failing.setup_failures, failed_before);
  absl::SleepFor(absl::Seconds(2));
  const YardStock later = Stock();
  // What was made before, of which nothing is left over, and nothing new.
  EXPECT_LE(later.groups, 2 * kSpares + kSpareGroups) << Text(later);
  EXPECT_EQ(later.stray_groups, 0u) << Text(later);
  // Without a pause there were some hundred a second.
  EXPECT_LT(later.setup_failures, failed_before + 40);
  std::ofstream(yard / "cgroup.max.depth") << "max" << std::flush;
  jails.clear();
  const YardStock after = AwaitStock([](const YardStock& stock) {
    return IsAtRest(stock) && stock.failing.empty();
  });
  EXPECT_EQ(after.stray_groups, 0u) << Text(after);
}

TEST(YardStock, SweepsGroupsThatBelongToNoJail) {
  const std::filesystem::path yard = YardGroup();
  AwaitStock(IsAtRest);
  constexpr int kStrays = 40;
  for (int i = 0; i < kStrays; ++i) {
    const auto stray = yard / absl::StrCat("jail-", 1'000'000 + i);
    ASSERT_EQ(::mkdir(stray.c_str(), 0755), 0) << errno;
  }
  EXPECT_EQ(Stock().stray_groups, static_cast<uint32_t>(kStrays));
  AwaitStock([](const YardStock& stock) {
    return IsAtRest(stock) && stock.stray_groups == 0;
  });
}

TEST(YardStock, SweepsNoGroupThatSomebodyIsIn) {
  const std::filesystem::path yard = YardGroup();
  AwaitStock(IsAtRest);
  const std::filesystem::path stray = yard / "jail-2000000";
  ASSERT_EQ(::mkdir(stray.c_str(), 0755), 0) << errno;
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  std::ofstream(stray / "cgroup.procs") << child << std::flush;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Stock().stray_groups, 1u);
    absl::SleepFor(absl::Milliseconds(100));
  }
  EXPECT_EQ(::kill(child, 0), 0);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  AwaitStock([](const YardStock& stock) {
    return IsAtRest(stock) && stock.stray_groups == 0;
  });
}

TEST(YardStock, SaysHowLongAJailEndsWhoseGroupStays) {
  AwaitStock(IsAtRest);
  std::filesystem::path inner;
  {
    TestSession session;
    // A group with another in it can't be removed.
    inner = GroupOf(session) / "inner";
    ASSERT_EQ(::mkdir(inner.c_str(), 0755), 0) << errno;
  }
  const YardStock first = AwaitStock([](const YardStock& stock) {
    return stock.ending == 1 && stock.longest_ending > absl::ZeroDuration();
  });
  EXPECT_EQ(first.jails, 0u) << Text(first);
  EXPECT_EQ(first.stray_groups, 0u) << Text(first);
  AwaitStock([&](const YardStock& stock) {
    return stock.ending == 1 &&
           stock.longest_ending > first.longest_ending + absl::Milliseconds(50);
  });
  ASSERT_EQ(::rmdir(inner.c_str()), 0) << errno;
  const YardStock after = AwaitStock(IsAtRest);
  EXPECT_EQ(after.longest_ending, absl::ZeroDuration());
  EXPECT_TRUE(g_sandbox->WaitUntilEmpty(kPatience));
}

// A child of ours in the pid namespace of a program's, which is killed with it
// and stays there until we reap it: as a process that waits for a dead disk.
class Straggler {
 public:
  explicit Straggler(pid_t program) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    parent_ = ::fork();
    if (parent_ == 0) {
      // Not what the daemon of these tests holds jails by.
      ::dup2(ready[1], STDIN_FILENO);
      os::CloseFrom(STDERR_FILENO + 1);
      const int space =
          ::open(absl::StrCat("/proc/", program, "/ns/pid").c_str(), O_RDONLY);
      if (::setns(space, CLONE_NEWPID) != 0) ::_exit(1);
      const pid_t child = ::fork();
      if (child > 0 && ::write(STDIN_FILENO, "r", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
  }
  ~Straggler() {
    ::kill(parent_, SIGKILL);
    ::waitpid(parent_, nullptr, 0);
  }
  Straggler(const Straggler&) = delete;
  Straggler& operator=(const Straggler&) = delete;

 private:
  pid_t parent_;
};

TEST(YardStock, SaysHowLongAJailEndsWhoseProcessesDoNotDie) {
  AwaitStock(IsAtRest);
  std::optional<Straggler> straggler;
  {
    TestSession session;
    pid_t program = 0;
    std::ifstream(absl::StrCat(
        TestSession::RunDirectory(session.Started(Shell("sleep 1000"))),
        "/p-1/cgroup.procs")) >>
        program;
    ASSERT_GT(program, 0);
    straggler.emplace(program);
  }
  const YardStock first = AwaitStock([](const YardStock& stock) {
    return stock.ending == 1 && stock.longest_ending > absl::ZeroDuration();
  });
  EXPECT_EQ(first.jails, 0u) << Text(first);
  AwaitStock([&](const YardStock& stock) {
    return stock.ending == 1 &&
           stock.longest_ending > first.longest_ending + absl::Milliseconds(50);
  });
  straggler.reset();
  const YardStock after = AwaitStock(IsAtRest);
  EXPECT_EQ(after.longest_ending, absl::ZeroDuration());
  EXPECT_TRUE(g_sandbox->WaitUntilEmpty(kPatience));
}

TEST(YardStock, CountsZygotesThatDieAndTheirSuccessors) {
  // One that has served is followed at once.
  ReadyJail(kPythonKind);
  const auto is_at_rest = [](const YardStock& stock) {
    return stock.zygote_serves && stock.jails == 0 && stock.ending == 0 &&
           stock.groups == kSpareGroups;
  };
  const YardStock before = AwaitStock(is_at_rest, kPythonKind);
  EXPECT_GT(before.zygote_starts, before.zygote_deaths);
  EXPECT_FALSE(Stock().zygote_serves);  // others have none
  const pid_t zygote = FindZygote();
  ASSERT_GT(zygote, 0);
  ASSERT_EQ(::kill(zygote, SIGKILL), 0);
  const YardStock after = AwaitStock(
      [&](const YardStock& stock) {
        return stock.zygote_deaths > before.zygote_deaths && is_at_rest(stock);
      },
      kPythonKind);
  EXPECT_EQ(after.zygote_deaths, before.zygote_deaths + 1);
  EXPECT_EQ(after.zygote_starts, before.zygote_starts + 1);
  // Fewer where one of an ended jail was still to be closed before.
  EXPECT_LE(after.open_descriptors, before.open_descriptors);
}

TEST(YardStock, IsTakenByManyAtOnceWhileJailsAreMade) {
  std::atomic<bool> over = false;
  std::vector<std::thread> others;
  others.reserve(8);
  for (int i = 0; i < 8; ++i) {
    others.emplace_back([&] {
      while (!over) {
        EXPECT_EQ(g_sandbox->CollectStock(kPatience).size(), 2u);
      }
    });
  }
  for (int i = 0; i < 20; ++i) ReadyJail();
  over = true;
  for (std::thread& other : others) other.join();
  AwaitStock(IsAtRest);
}

}  // namespace
}  // namespace sandglass::sandbox
