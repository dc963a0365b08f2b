// What the daemon does to and reads from the host: directories, sockets,
// accounts, memory.
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandbox/os/io.h"
#include "server/base/accounts.h"
#include "server/base/memory_budget.h"
#include "server/base/notify.h"
#include "server/base/state_dir.h"
#include "server/base/unix_socket.h"
#include "server/daemon/config_doubts.h"
#include "server/daemon/uid_range.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

constexpr uint64_t kGiB = uint64_t{1} << 30;

void Write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(
      std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

UnixSocketOptions Own(const std::string& path) {
  return {.path = path, .mode = 0640, .owner = ::getuid(), .group = ::getgid()};
}

TEST(StateDir, ASecondDaemonIsRefused) {
  TempDir dir;
  auto lock = LockStateDir(dir.path());
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_EQ(LockStateDir(dir.path()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  lock->reset();
  EXPECT_TRUE(LockStateDir(dir.path()).ok());
}

TEST(StateDir, DirectoriesAreOpenToReadWhateverTheUmask) {
  TempDir dir;
  const mode_t old = ::umask(0077);
  EXPECT_TRUE(MakeDirectories(dir.path() + "/a/b").ok());
  ::umask(old);
  struct stat info {};
  ASSERT_EQ(::stat((dir.path() + "/a/b").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0755u);
  EXPECT_TRUE(MakeDirectories(dir.path() + "/a/b").ok());
  Write(dir.path() + "/file", "");
  EXPECT_FALSE(MakeDirectories(dir.path() + "/file/x").ok());
}

TEST(StateDir, NamesWhoBesidesRootMayWrite) {
  TempDir dir;
  EXPECT_EQ(OtherWriters(dir.path() + "/none"), "");
  if (::geteuid() != 0) {
    EXPECT_THAT(OtherWriters(dir.path()), HasSubstr("its owner, uid "));
    return;
  }
  const auto with = [&](mode_t mode, uid_t owner, gid_t group) {
    EXPECT_EQ(::chown(dir.path().c_str(), owner, group), 0);
    EXPECT_EQ(::chmod(dir.path().c_str(), mode), 0);
    return OtherWriters(dir.path());
  };
  EXPECT_EQ(with(0755, 0, 7), "");
  EXPECT_EQ(with(0775, 0, 0), "");
  EXPECT_EQ(with(0775, 0, 7), "its group, gid 7");
  EXPECT_EQ(with(0757, 0, 7), "everybody");
  EXPECT_EQ(with(0755, 7, 0), "its owner, uid 7");
}

TEST(StateDir, InstanceNamesAreTheDirectorysAndNotItsPaths) {
  TempDir dir, other;
  std::filesystem::create_symlink(dir.path(), other.path() + "/link");
  const std::string name = InstanceName(dir.path());
  EXPECT_THAT(name, MatchesRegex("sandglass-[0-9a-f]{16}"));
  EXPECT_EQ(name, InstanceName(other.path() + "/link"));
  EXPECT_NE(name, InstanceName(other.path()));
  // Moved it is still the same, and what is then at its path is another.
  std::filesystem::rename(dir.path(), other.path() + "/moved");
  EXPECT_EQ(name, InstanceName(other.path() + "/moved"));
  std::filesystem::create_directory(dir.path());
  EXPECT_NE(name, InstanceName(dir.path()));
}

// As a container has it that was made from the same image.
TEST(StateDir, InstanceNamesDifferForCopies) {
  TempDir dir;
  const std::string first = dir.path() + "/first";
  const std::string second = dir.path() + "/second";
  std::filesystem::create_directory(first);
  std::ofstream(first + "/cgroups") << "/sys/fs/cgroup/sandglass-1\n";
  std::filesystem::copy(first, second);
  EXPECT_NE(InstanceName(first), InstanceName(second));
}

TEST(UnixSocket, IsMadeWithItsModeAndReplacesAStaleOne) {
  TempDir dir;
  const std::string path = dir.path() + "/sub/s.sock";
  auto socket = ListenOnUnixSocket(Own(path));
  ASSERT_TRUE(socket.ok()) << socket.status();
  struct stat info {};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
  EXPECT_THAT(std::string(ListenOnUnixSocket(Own(path)).status().message()),
              HasSubstr("another server answers"));
  socket->reset();  // as a daemon that died leaves it
  EXPECT_TRUE(ListenOnUnixSocket(Own(path)).ok());
}

TEST(UnixSocket, NeverRemovesWhatIsNoSocket) {
  TempDir dir;
  const std::string path = dir.path() + "/precious";
  Write(path, "data");
  EXPECT_EQ(ListenOnUnixSocket(Own(path)).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(Ids, RootIsRefused) {
  EXPECT_FALSE(ResolveIds("root", 1879048192).ok());
  EXPECT_FALSE(ResolveIds("0:1000", 1879048192).ok());
  EXPECT_FALSE(ResolveIds("1000:0", 1879048192).ok());
}

TEST(Ids, AcceptsAccountsNumbersAndTheDefault) {
  const auto nobody = ResolveIds("nobody", 1879048192);
  ASSERT_TRUE(nobody.ok()) << nobody.status();
  EXPECT_EQ(nobody->uid, 65534u);
  const auto numbers = ResolveIds("1234:5678", 1879048192);
  ASSERT_TRUE(numbers.ok());
  EXPECT_EQ(numbers->uid, 1234u);
  EXPECT_EQ(numbers->gid, 5678u);
  const auto standard = ResolveIds("", 1879048192);
  ASSERT_TRUE(standard.ok()) << standard.status();
  EXPECT_NE(standard->uid, 0u);
  for (const char* bad : {"no-such-account", "1:2:3", "1", "a:b", "-1:-1"}) {
    EXPECT_FALSE(ResolveIds(bad, 1879048192).ok()) << bad;
  }
}

TEST(Ids, AGroupIsANameOrANumber) {
  EXPECT_EQ(*ResolveGroup("", 42), 42u);
  EXPECT_EQ(*ResolveGroup("nogroup", 42), 65534u);
  EXPECT_EQ(*ResolveGroup("77", 42), 77u);
  EXPECT_FALSE(ResolveGroup("no-such-group", 42).ok());
}

class MemoryBudgetTest : public ::testing::Test {
 protected:
  MemoryBudgetTest() {
    Write(files_.meminfo,
          "MemTotal:       20971520 kB\nMemAvailable:   10485760 kB\n");
  }
  TempDir dir_;
  MemoryFiles files_{dir_.path() + "/meminfo", dir_.path() + "/cgroup",
                     dir_.path() + "/fs"};
};

TEST_F(MemoryBudgetTest, MachineMemoryIgnoresWhatIsInUse) {
  EXPECT_EQ(MachineMemory(files_), 20 * kGiB);
  Write(files_.self_cgroup, "0::/a/b\n");
  Write(files_.cgroup_root + "/a/memory.max", "4294967296\n");
  EXPECT_EQ(MachineMemory(files_), 4 * kGiB);
}

TEST_F(MemoryBudgetTest, TheDefaultIsSeventyPercentOfWhatIsAvailable) {
  EXPECT_EQ(DefaultMemoryBudget(files_), 7 * kGiB);
}

TEST_F(MemoryBudgetTest, ATighterLimitAboveOursCountsOnV2) {
  Write(files_.self_cgroup, "0::/a/b\n");
  Write(files_.cgroup_root + "/a/b/memory.max", "max\n");
  Write(files_.cgroup_root + "/a/memory.max", "2147483648\n");
  EXPECT_EQ(DefaultMemoryBudget(files_), 2 * kGiB / 10 * 7);
}

TEST_F(MemoryBudgetTest, ATighterLimitAboveOursCountsOnV1AndHybrid) {
  Write(files_.self_cgroup, "4:cpu,memory:/x\n0::/\n");
  Write(files_.cgroup_root + "/memory/x/memory.limit_in_bytes", "1073741824\n");
  Write(files_.cgroup_root + "/memory/memory.limit_in_bytes",
        "9223372036854771712\n");
  EXPECT_EQ(DefaultMemoryBudget(files_), kGiB / 10 * 7);
}

TEST_F(MemoryBudgetTest, TheBudgetIsPositiveWhenNothingCanBeRead) {
  EXPECT_GT(DefaultMemoryBudget({"/nonexistent", "/nonexistent", "/none"}), 0u);
}

TEST_F(MemoryBudgetTest, WhatIsToSpareIsAvailableBeyondAReserve) {
  // A sixteenth of 20 GiB is more than 1 GiB.
  EXPECT_EQ(SpareMemory(files_), 9 * int64_t{kGiB});
  Write(files_.meminfo,
        "MemTotal:       8388608 kB\nMemAvailable:   262144 kB\n");
  EXPECT_EQ(SpareMemory(files_), -int64_t{kGiB} / 4);
}

TEST_F(MemoryBudgetTest, AFullGroupHasNothingToSpareOnV2) {
  Write(files_.self_cgroup, "0::/a/b\n");
  Write(files_.cgroup_root + "/a/memory.max", "1073741824\n");
  Write(files_.cgroup_root + "/a/memory.current", "1073741824\n");
  EXPECT_EQ(SpareMemory(files_), -int64_t{kGiB} / 16);
  // A file that was read once can go.
  Write(files_.cgroup_root + "/a/memory.stat",
        "anon 1\nfile 805306368\ninactive_file 536870912\n");
  EXPECT_EQ(SpareMemory(files_), int64_t{kGiB} / 2 - int64_t{kGiB} / 16);
  // The group below, which is tighter.
  Write(files_.cgroup_root + "/a/b/memory.max", "536870912\n");
  Write(files_.cgroup_root + "/a/b/memory.current", "536870912\n");
  EXPECT_EQ(SpareMemory(files_), -int64_t{kGiB} / 32);
}

TEST_F(MemoryBudgetTest, AFullGroupHasNothingToSpareOnV1) {
  Write(files_.self_cgroup, "4:cpu,memory:/x\n0::/\n");
  const std::string group = files_.cgroup_root + "/memory/x/";
  Write(group + "memory.limit_in_bytes", "1073741824\n");
  Write(group + "memory.usage_in_bytes", "1073741824\n");
  Write(group + "memory.stat",
        "inactive_file 4096\ntotal_inactive_file 134217728\n");
  EXPECT_EQ(SpareMemory(files_), int64_t{kGiB} / 8 - int64_t{kGiB} / 16);
}

// The kernel drops those before it kills, so they are no lack.
TEST_F(MemoryBudgetTest, FilesThatAreUsedAreNotWhatProgramsHold) {
  Write(files_.self_cgroup, "4:cpu,memory:/x\n0::/a\n");
  Write(files_.cgroup_root + "/a/memory.max", "1073741824\n");
  Write(files_.cgroup_root + "/a/memory.current", "1073741824\n");
  Write(files_.cgroup_root + "/a/memory.stat",
        "anon 1\ninactive_file 134217728\nactive_file 402653184\n");
  EXPECT_EQ(SpareMemory(files_), int64_t{kGiB} / 8 - int64_t{kGiB} / 16);
  EXPECT_EQ(SpareBesidePrograms(files_),
            int64_t{kGiB} / 2 - int64_t{kGiB} / 16);
  const std::string group = files_.cgroup_root + "/memory/x/";
  Write(group + "memory.limit_in_bytes", "1073741824\n");
  Write(group + "memory.usage_in_bytes", "1073741824\n");
  Write(group + "memory.stat",
        "active_file 1\ntotal_inactive_file 67108864\ntotal_active_file "
        "67108864\n");
  EXPECT_EQ(SpareBesidePrograms(files_),
            int64_t{kGiB} / 8 - int64_t{kGiB} / 16);
}

TEST_F(MemoryBudgetTest, WithoutFilesMemoryIsNoConcern) {
  EXPECT_EQ(SpareMemory({"/nonexistent", "/nonexistent", "/none"}),
            std::numeric_limits<int64_t>::max());
}

TEST(Notify, SendsTheStateToTheServiceManager) {
  TempDir dir;
  const std::string path = dir.path() + "/notify";
  const os::Fd manager(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(manager.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof(address)),
            0);
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ::setenv("NOTIFY_SOCKET", path.c_str(), 1);
  NotifyServiceManager("READY=1");
  NotifyServiceManager("FDSTORE=1", manager.get());
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  ::unsetenv("NOTIFY_SOCKET");
  char buffer[64] = {};
  ASSERT_EQ(::recv(manager.get(), buffer, sizeof(buffer), MSG_DONTWAIT), 7);
  EXPECT_STREQ(buffer, "READY=1");
  std::vector<os::Fd> stored;
  ASSERT_EQ(os::ReceiveDatagram(manager.get(), buffer, sizeof(buffer), stored,
                                MSG_DONTWAIT),
            9);
  ASSERT_EQ(stored.size(), 1U);
  struct stat sent {};
  struct stat received {};
  EXPECT_EQ(::fstat(manager.get(), &sent), 0);
  EXPECT_EQ(::fstat(stored.front().get(), &received), 0);
  EXPECT_EQ(sent.st_ino, received.st_ino);
}

TEST(ConfigDoubts, AreSaidOfWhatIsHardlyMeant) {
  Config config;
  config.listen.unix_path = "/run/sandglass/sandglass.sock";
  config.admission.memory_budget_bytes = kGiB;
  config.pool = {{.floor = 4, .ceiling = 16, .max_idle = 64}};
  config.socket_mode = 0660;
  config.metrics.listen = "127.0.0.1:9464";
  EXPECT_THAT(ConfigDoubts(config, 2 * kGiB), ::testing::IsEmpty());
  config.admission.memory_budget_bytes = 3 * kGiB;
  config.pool = {{.floor = 20, .ceiling = 16, .max_idle = 18}};
  config.socket_mode = 0666;
  config.metrics.listen = "[::]:9464";
  EXPECT_THAT(
      ConfigDoubts(config, 2 * kGiB),
      ::testing::ElementsAre(
          HasSubstr("admission.memory_budget: 3 GiB is more than the memory "
                    "there is (2 GiB)"),
          HasSubstr("pool.floor: 20 is above pool.ceiling, 16"),
          HasSubstr("pool.floor: 20 is above pool.most_idle, 18"),
          HasSubstr("socket.mode: with 0666 everybody on this machine"),
          HasSubstr("metrics.listen: [::]:9464 can be reached from other")));
  config.pool = {{.floor = 0, .memory_budget_bytes = 3 * kGiB}};
  config.listen = {.unix_path = "", .tcp_address = "127.0.0.1:1"};
  config.metrics.listen = "";
  config.admission.memory_budget_bytes = kGiB;
  EXPECT_THAT(ConfigDoubts(config, 2 * kGiB), ::testing::IsEmpty());
  config.pool.floor = 1;
  EXPECT_THAT(ConfigDoubts(config, 2 * kGiB),
              ::testing::ElementsAre(HasSubstr("pool.memory_budget: 3 GiB")));
}

// Holds a range in another process until it is destroyed.
class OtherHolder {
 public:
  explicit OtherHolder(const UidRange& range) {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const auto held = HoldUidRange(range);
      const char ok = held.ok() ? 'y' : 'n';
      (void)!::write(ready[1], &ok, 1);
      ::pause();
      ::_exit(0);
    }
    char ok = 0;
    EXPECT_EQ(::read(ready[0], &ok, 1), 1);
    EXPECT_EQ(ok, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  ~OtherHolder() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  OtherHolder(const OtherHolder&) = delete;
  OtherHolder& operator=(const OtherHolder&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

TEST(UidRange, IsOneProcessesOnly) {
  // Above all that the setting takes.
  constexpr uid_t kBase = 4100000000;
  const UidRange range = {kBase, kBase + 99};
  EXPECT_TRUE(CheckUidRange(range).ok());
  {
    const OtherHolder other(range);
    for (const UidRange& overlapping :
         {range, UidRange{kBase + 99, kBase + 200}, UidRange{kBase - 50, kBase},
          UidRange{kBase + 5, kBase + 5}}) {
      const absl::Status taken = CheckUidRange(overlapping);
      EXPECT_EQ(taken.code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(taken.message()),
                  HasSubstr("another sandglassd (pid " +
                            std::to_string(other.pid()) + ", "));
      EXPECT_FALSE(HoldUidRange(overlapping).ok());
    }
    for (const UidRange& beside : {UidRange{kBase + 100, kBase + 200},
                                   UidRange{kBase - 50, kBase - 1}}) {
      EXPECT_TRUE(CheckUidRange(beside).ok());
    }
  }
  // It ended with its process.
  const absl::StatusOr<os::Fd> held = HoldUidRange(range);
  EXPECT_TRUE(held.ok()) << held.status();
}

}  // namespace
}  // namespace sandglass::server
