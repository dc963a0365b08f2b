#include "sandbox/jail/counter_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "tests/support/temp_dir.h"

namespace sandglass::sandbox {
namespace {

using ::sandglass::testing::TempDir;
using ::sandglass::testing::WriteFile;

os::Fd Directory(const std::string& path) {
  return os::Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

class CounterFilesTest : public ::testing::Test {
 protected:
  CounterFilesTest() {
    std::filesystem::create_directories(all_.Path("v2/run"));
    std::filesystem::create_directories(all_.Path("v1"));
  }
  void Write(const std::string& name, const std::string& text) {
    WriteFile(all_.Path(name), text);
  }
  CounterGroups OnV2() const {
    CounterGroups groups;
    groups.v2 = Directory(all_.Path("v2"));
    return groups;
  }
  CounterGroups OnV1() const {
    CounterGroups groups = OnV2();
    groups.memory = Directory(all_.Path("v1"));
    groups.pids = Directory(all_.Path("v1"));
    groups.cpu = Directory(all_.Path("v1"));
    return groups;
  }

  TempDir all_;
};

TEST_F(CounterFilesTest, AreReadOnCgroupV2) {
  Write("v2/memory.events", "low 0\nhigh 1\nmax 7\noom 3\noom_kill 2\n");
  Write("v2/memory.peak", "4096\n");
  Write("v2/memory.stat", "anon 100\nfile 30\nkernel 5\n");
  Write("v2/pids.events", "max 9\n");
  Write("v2/pids.current", "3\n");
  Write("v2/pids.peak", "5\n");
  Write("v2/cpu.stat", "usage_usec 9\nnr_throttled 4\nthrottled_usec 250\n");
  Write("v2/run/cgroup.procs", "0\n0\n");
  Write("v2/run/cpu.stat", "usage_usec 30\nuser_usec 10\nsystem_usec 20\n");
  const CounterFiles files(OnV2());

  const JailCounters counters = files.Read();
  EXPECT_EQ(counters.counters.oom_kills, 2u);
  EXPECT_EQ(counters.counters.memory_limit_hits, 7u);
  EXPECT_EQ(counters.counters.pids_limit_hits, 9u);
  EXPECT_EQ(counters.ooms_at_limit, std::optional<uint64_t>(3));
  EXPECT_EQ(counters.counters.jail_peak_processes, std::optional<uint32_t>(4));
  EXPECT_EQ(counters.counters.cpu_throttled_periods, 4u);
  EXPECT_EQ(counters.counters.cpu_throttled_time, absl::Microseconds(250));
  EXPECT_EQ(counters.cpu_user, absl::Microseconds(10));
  EXPECT_EQ(counters.cpu_system, absl::Microseconds(20));
  EXPECT_EQ(counters.peak_memory_bytes, 4096u);
  EXPECT_EQ(files.Memory().anonymous_bytes, 100u);
  EXPECT_EQ(files.Memory().shared_bytes, 30u);
  EXPECT_EQ(files.OomKills(), 2u);
  EXPECT_EQ(files.Processes(), 3u);
  EXPECT_EQ(files.RunProcesses(), 2u);
  EXPECT_EQ(files.PeakProcesses(), std::optional<uint32_t>(4));
}

TEST_F(CounterFilesTest, AreReadOnCgroupV1) {
  Write("v1/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  Write("v1/memory.failcnt", "12\n");
  Write("v1/memory.max_usage_in_bytes", "8192\n");
  Write("v1/memory.stat", "cache 40\nrss 200\n");
  Write("v1/pids.events", "max 6\n");
  Write("v1/pids.current", "2\n");
  Write("v1/cpu.stat", "nr_periods 5\nnr_throttled 3\nthrottled_time 77\n");
  Write("v2/cpu.stat", "nr_throttled 99\n");
  Write("v2/run/cpu.stat", "user_usec 1\nsystem_usec 2\n");
  const CounterFiles files(OnV1());

  const JailCounters counters = files.Read();
  EXPECT_EQ(counters.counters.oom_kills, 1u);
  EXPECT_EQ(counters.counters.memory_limit_hits, 12u);
  EXPECT_EQ(counters.counters.pids_limit_hits, 6u);
  EXPECT_EQ(counters.ooms_at_limit, std::nullopt);
  EXPECT_EQ(counters.counters.jail_peak_processes, std::nullopt);
  EXPECT_EQ(counters.counters.cpu_throttled_periods, 3u);
  EXPECT_EQ(counters.counters.cpu_throttled_time, absl::Nanoseconds(77));
  EXPECT_EQ(counters.cpu_total(), absl::Microseconds(3));
  EXPECT_EQ(counters.peak_memory_bytes, 8192u);
  EXPECT_EQ(files.Memory().anonymous_bytes, 200u);
  EXPECT_EQ(files.Memory().shared_bytes, 40u);
  EXPECT_EQ(files.PeakProcesses(), std::nullopt);

  // Where swap is accounted.
  Write("v1/memory.failcnt", "0\n");
  Write("v1/memory.memsw.failcnt", "13\n");
  EXPECT_EQ(CounterFiles(OnV1()).Read().counters.memory_limit_hits, 13u);
}

// A session's, which may wait for long: the first keep their files, later ones
// open each as it is read.
TEST_F(CounterFilesTest, SettledFilesReadTheSame) {
  Write("v1/memory.oom_control", "under_oom 0\noom_kill 1\n");
  Write("v1/memory.stat", "cache 40\nrss 200\n");
  Write("v2/run/cpu.stat", "user_usec 1\nsystem_usec 2\n");
  Write("v2/run/cgroup.procs", "7\n");
  CounterFiles kept(OnV1());
  CounterFiles late(OnV1());
  kept.Settle(1);
  late.Settle(1);
  EXPECT_FALSE(kept.opens_late());
  EXPECT_TRUE(late.opens_late());
  for (const CounterFiles* files : {&kept, &late}) {
    EXPECT_EQ(files->OomKills(), 1u);
    EXPECT_EQ(files->Memory().anonymous_bytes, 200u);
    EXPECT_EQ(files->Read().cpu_total(), absl::Microseconds(3));
    EXPECT_EQ(files->RunProcesses(), 1u);
    EXPECT_EQ(files->PeakProcesses(), std::nullopt);
  }
  Write("v1/memory.stat", "cache 41\nrss 201\n");
  EXPECT_EQ(late.Memory().anonymous_bytes, 201u);
  EXPECT_TRUE(late.Open("run/cgroup.procs").valid());
}

TEST_F(CounterFilesTest, EndedFilesLeaveRoomForOthers) {
  for (int i = 0; i < 3; ++i) {
    CounterFiles files(OnV1());
    files.Settle(1);
    EXPECT_FALSE(files.opens_late());
  }
}

// The kernel kills in a group also when memory ran out above it. Its limit
// wasn't met then (memory.events of cgroup-v2.rst: "oom").
TEST_F(CounterFilesTest, OnV2TellWhetherMemoryRanOutAtTheLimit) {
  Write("v2/memory.events", "low 0\nhigh 0\nmax 5\noom 1\noom_kill 1\n");
  Write("v2/memory.peak", "4096\n");
  const CounterFiles files(OnV2());
  const JailCounters before = files.Read();
  EXPECT_EQ(Since({}, before).oom_at_limit, true);
  Write("v2/memory.events", "low 0\nhigh 0\nmax 9\noom 1\noom_kill 3\n");
  const policy::Counters above = Since(before, files.Read());
  EXPECT_EQ(above.oom_kills, 2u);
  EXPECT_EQ(above.memory_limit_hits, 4u);
  EXPECT_EQ(above.oom_at_limit, false);
  EXPECT_EQ(above.jail_peak_memory_bytes, std::nullopt);
  Write("v2/memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 3\n");
  EXPECT_EQ(Since(before, files.Read()).oom_at_limit, true);
  EXPECT_EQ(Since(files.Read(), files.Read()).oom_at_limit, std::nullopt);
  // What can't be told counts as its own.
  Write("v2/memory.events", "oom_kill 1\n");
  EXPECT_EQ(Since({}, CounterFiles(OnV2()).Read()).oom_at_limit, true);
}

TEST_F(CounterFilesTest, OnV1TellTheMostMemoryThatThereEverWas) {
  Write("v1/memory.oom_control", "under_oom 0\noom_kill 1\n");
  Write("v1/memory.max_usage_in_bytes", "8192\n");
  policy::Counters counters = Since({}, CounterFiles(OnV1()).Read());
  EXPECT_EQ(counters.oom_at_limit, std::nullopt);
  EXPECT_EQ(counters.jail_peak_memory_bytes, std::optional<uint64_t>(8192));
  // Where swap is accounted.
  Write("v1/memory.memsw.max_usage_in_bytes", "12288\n");
  counters = Since({}, CounterFiles(OnV1()).Read());
  EXPECT_EQ(counters.jail_peak_memory_bytes, std::optional<uint64_t>(12288));
  Write("v1/memory.memsw.max_usage_in_bytes", "");
  counters = Since({}, CounterFiles(OnV1()).Read());
  EXPECT_EQ(counters.jail_peak_memory_bytes, std::nullopt);
  Write("v1/memory.oom_control", "under_oom 0\noom_kill 0\n");
  Write("v1/memory.memsw.max_usage_in_bytes", "12288\n");
  counters = Since({}, CounterFiles(OnV1()).Read());
  EXPECT_EQ(counters.jail_peak_memory_bytes, std::nullopt) << "no kill";
}

TEST_F(CounterFilesTest, OnlyRiseBetweenTwoReadings) {
  JailCounters before;
  before.counters.oom_kills = 3;
  before.counters.pids_limit_hits = 1;
  before.counters.cpu_throttled_time = absl::Seconds(2);
  JailCounters now;  // of a group that is gone
  now.counters.pids_limit_hits = 5;
  now.counters.jail_peak_processes = 7;
  const policy::Counters rose = Since(before, now);
  EXPECT_EQ(rose.oom_kills, 0u);
  EXPECT_EQ(rose.pids_limit_hits, 4u);
  EXPECT_EQ(rose.jail_peak_processes, std::optional<uint32_t>(7));
  EXPECT_EQ(Since(now, now).jail_peak_processes, std::nullopt);
  EXPECT_EQ(rose.cpu_throttled_time, absl::ZeroDuration());
}

TEST_F(CounterFilesTest, EachReadingSeesChanges) {
  Write("v2/pids.current", "3\n");
  const CounterFiles files(OnV2());
  EXPECT_EQ(files.Processes(), 3u);
  Write("v2/pids.current", "41\n");
  EXPECT_EQ(files.Processes(), 41u);
}

TEST_F(CounterFilesTest, BeforeMemoryPeakWasThereTheCurrentOneServes) {
  Write("v2/memory.current", "512\n");
  EXPECT_EQ(CounterFiles(OnV2()).Read().peak_memory_bytes, 512u);
}

TEST_F(CounterFilesTest, RemovedGroupsReadAsZero) {
  const CounterFiles files((CounterGroups()));
  EXPECT_EQ(files.Read().counters.oom_kills, 0u);
  EXPECT_EQ(files.Read().cpu_total(), absl::ZeroDuration());
  EXPECT_EQ(files.Memory().shared_bytes, 0u);
  EXPECT_EQ(files.Processes(), 0u);
  EXPECT_EQ(files.RunProcesses(), 0u);
  EXPECT_EQ(files.PeakProcesses(), std::nullopt);
}

TEST_F(CounterFilesTest, MalformedFilesReadAsZero) {
  Write("v2/pids.current", "max\n");
  Write("v2/memory.stat", "anon\nfile many\n");
  const CounterFiles files(OnV2());
  EXPECT_EQ(files.Processes(), 0u);
  EXPECT_EQ(files.Memory().anonymous_bytes, 0u);
  EXPECT_EQ(files.Memory().shared_bytes, 0u);
}

}  // namespace
}  // namespace sandglass::sandbox
