#include "sandbox/jail/lock_census.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "sandbox/jail/jail_process.h"
#include "sandbox/os/clocks.h"

namespace sandglass::sandbox {
namespace {

TEST(CountLocks, BelongToTheirProcesses) {
  std::map<pid_t, size_t> counts;
  EXPECT_EQ(CountLocks("1: POSIX  ADVISORY  WRITE 7 00:1f:45 0 EOF\n"
                       "2: POSIX  ADVISORY  READ  7 00:1f:45 4 5\n"
                       "2: -> POSIX  ADVISORY  WRITE 8 00:1f:45 4 5\n"
                       "3: FLOCK  ADVISORY  WRITE 9 00:1f:46 0 EOF\n"
                       "4: OFDLCK ADVISORY  WRITE -1 00:1f:46 0 EOF\n"
                       "5: POSIX  ADVISORY  WRITE 10 00:1f:47 0 EOF\n",
                       counts),
            5u);
  EXPECT_EQ(counts, (std::map<pid_t, size_t>{{7, 2}, {9, 1}, {10, 1}}));
}

TEST(CountLocks, MalformedLinesAreNobodys) {
  std::map<pid_t, size_t> counts;
  EXPECT_EQ(CountLocks("", counts), 0u);
  EXPECT_EQ(CountLocks("\n\n1: POSIX\n", counts), 0u);
  EXPECT_EQ(CountLocks("1: POSIX ADVISORY WRITE x 0:0:0 0 EOF\n", counts), 1u);
  EXPECT_EQ(CountLocks("1: POSIX ADVISORY WRITE -3 0:0:0 0 EOF\n", counts), 1u);
  EXPECT_TRUE(counts.empty());
}

TEST(JailProcess, IsKnownByItsPidfd) {
  const os::Fd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  ASSERT_TRUE(self.valid());
  EXPECT_EQ(PidOf(self), ::getpid());
  EXPECT_TRUE(IsAlive(self));
  EXPECT_EQ(GroupOfProcess(::getpid()).substr(0, 1), "/");
  EXPECT_EQ(PidOf(os::Fd()), 0);
  EXPECT_EQ(GroupOfProcess(4'194'304), "");
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  const os::Fd other(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(PidOf(other), 0);
  EXPECT_FALSE(IsAlive(other));
}

// Of a child, until it ends.
class Locker {
 public:
  explicit Locker(int count) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      // Some in each file: the kernel goes through a list of them.
      constexpr int kInOneFile = 1000;
      int file = -1;
      for (int i = 0; i < count; ++i) {
        if (i % kInOneFile == 0) file = ::memfd_create("locked", 0);
        struct flock lock = {};
        lock.l_type = F_WRLCK;
        lock.l_start = off_t{2} * i;
        lock.l_len = 1;
        if (::fcntl(file, F_SETLK, &lock) != 0) ::_exit(1);
      }
      if (::write(ready[1], "r", 1) != 1) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ready[1]);
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
  }
  ~Locker() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Locker(const Locker&) = delete;
  Locker& operator=(const Locker&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

// A control group of version 2 that a process is moved into, for the time that
// this lives. Declared before the process, so that it goes after it.
class OwnGroup {
 public:
  OwnGroup() {
    std::ifstream mounts("/proc/self/mounts");
    for (std::string device, place, type, rest;
         mounts >> device >> place >> type && std::getline(mounts, rest);) {
      if (type != "cgroup2") continue;
      path_ = absl::StrCat(place, "/sandglass-locks-test-", ::getpid());
      if (::mkdir(path_.c_str(), 0755) != 0) path_.clear();
      return;
    }
  }
  ~OwnGroup() {
    if (path_.empty()) return;
    EXPECT_EQ(::rmdir(path_.c_str()), 0) << path_;
  }
  OwnGroup(const OwnGroup&) = delete;
  OwnGroup& operator=(const OwnGroup&) = delete;
  // False where there is none, or without the right to.
  bool Take(pid_t pid) const {
    std::ofstream members(path_ + "/cgroup.procs");
    return !path_.empty() && static_cast<bool>(members << pid << std::flush);
  }

 private:
  std::string path_;
};

// A lock for which many wait: its record alone fills most of a page, and the
// one before it ends early.
class Waiters {
 public:
  explicit Waiters(int count) : file_(::memfd_create("waited-for", 0)) {
    const std::string path = absl::StrCat("/proc/self/fd/", file_);
    EXPECT_EQ(::flock(file_, LOCK_EX), 0);
    for (int i = 0; i < count; ++i) {
      const pid_t pid = ::fork();
      if (pid == 0) {
        ::flock(::open(path.c_str(), O_RDWR), LOCK_EX);
        ::_exit(0);
      }
      pids_.push_back(pid);
    }
  }
  ~Waiters() {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
    ::close(file_);
  }
  Waiters(const Waiters&) = delete;
  Waiters& operator=(const Waiters&) = delete;

 private:
  const int file_;
  std::vector<pid_t> pids_;
};

bool Await(const auto& is_so) {
  const absl::Time end = os::SteadyNow() + absl::Seconds(30);
  while (!is_so()) {
    if (os::SteadyNow() > end) return false;
    absl::SleepFor(absl::Milliseconds(20));
  }
  return true;
}

TEST(LockCensus, TellsOfAGroupThatHasManyUntilItHasNone) {
  LockCensus& census = LockCensus::Shared();
  census.Start();
  {
    const OwnGroup own;
    const Locker locker(static_cast<int>(2 * kMaxListedLocks));
    const bool taken = own.Take(locker.pid());
    const std::string group = GroupOfProcess(locker.pid());
    if (group == "/") {
      EXPECT_FALSE(taken);
      census.Stop();
      GTEST_SKIP() << "no control group of its own, and none can be made";
    }
    EXPECT_TRUE(Await([&] {
      return census.BytesOf(group) > kMaxListedLocks / 4 * kRecordLockBytes;
    }));
    const Waiters waiters(45);
    // Until what was seen before they were there is no longer what is told.
    absl::SleepFor(absl::Seconds(3));
    EXPECT_GT(census.BytesOf(group), kMaxListedLocks / 4 * kRecordLockBytes);
    EXPECT_EQ(census.BytesOf(group + "x"), 0u);
    EXPECT_EQ(census.BytesOf(group.substr(0, group.size() - 1)), 0u);
    EXPECT_EQ(census.BytesOf("/"), 0u);
    EXPECT_EQ(census.BytesOf(""), 0u);
  }
  EXPECT_TRUE(Await([&] { return !census.many(); }));
  census.Stop();
}

}  // namespace
}  // namespace sandglass::sandbox
