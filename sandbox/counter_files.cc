#include "sandbox/counter_files.h"

#include <fcntl.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "sandbox/os/files.h"

namespace sandglass::sandbox {
namespace {

os::Fd Open(const os::Fd& directory, const char* name) {
  return os::Fd(::openat(directory.get(), name, O_RDONLY | O_CLOEXEC));
}

uint64_t Key(const os::Fd& file, absl::string_view key) {
  return os::FindKey(os::ReadControlFile(file), key).value_or(0);
}

std::optional<uint64_t> Number(const os::Fd& file) {
  const std::string text = os::ReadControlFile(file);
  uint64_t value = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

CounterFiles::CounterFiles(const CounterGroups& groups)
    : memory_on_v1_(groups.memory.valid()), cpu_on_v1_(groups.cpu.valid()) {
  if (memory_on_v1_) {
    memory_events_ = Open(groups.memory, "memory.oom_control");
    // Where swap is accounted, memory and swap together have the same limit and
    // are charged first, so that the other counts nothing.
    memory_hits_ = Open(groups.memory, "memory.memsw.failcnt");
    if (!memory_hits_.valid()) {
      memory_hits_ = Open(groups.memory, "memory.failcnt");
    }
    memory_peak_ = Open(groups.memory, "memory.max_usage_in_bytes");
    memory_stat_ = Open(groups.memory, "memory.stat");
  } else {
    memory_events_ = Open(groups.v2, "memory.events");
    // memory.peak: Linux 5.19.
    memory_peak_ = Open(groups.v2, "memory.peak");
    if (!memory_peak_.valid()) {
      memory_peak_ = Open(groups.v2, "memory.current");
    }
    memory_stat_ = Open(groups.v2, "memory.stat");
  }
  const os::Fd& pids = groups.pids.valid() ? groups.pids : groups.v2;
  pids_events_ = Open(pids, "pids.events");
  pids_current_ = Open(pids, "pids.current");
  pids_peak_ = Open(pids, "pids.peak");
  cpu_stat_ = Open(cpu_on_v1_ ? groups.cpu : groups.v2, "cpu.stat");
  // v2 accounts processor time in every group, with or without the controller.
  run_cpu_stat_ = Open(groups.v2, "run/cpu.stat");
  run_processes_ = Open(groups.v2, "run/cgroup.procs");
}

JailCounters CounterFiles::Read() const {
  JailCounters result;
  const std::string memory = os::ReadControlFile(memory_events_);
  result.counters.oom_kills = os::FindKey(memory, "oom_kill").value_or(0);
  result.counters.memory_limit_hits =
      memory_on_v1_ ? Number(memory_hits_).value_or(0)
                    : os::FindKey(memory, "max").value_or(0);
  result.peak_memory_bytes = Number(memory_peak_).value_or(0);
  result.counters.pids_limit_hits = Key(pids_events_, "max");
  const std::string cpu = os::ReadControlFile(cpu_stat_);
  result.counters.cpu_throttled_periods =
      os::FindKey(cpu, "nr_throttled").value_or(0);
  result.counters.cpu_throttled_time =
      cpu_on_v1_
          ? absl::Nanoseconds(os::FindKey(cpu, "throttled_time").value_or(0))
          : absl::Microseconds(os::FindKey(cpu, "throttled_usec").value_or(0));
  CpuTime(result.cpu_user, result.cpu_system);
  return result;
}

MemorySample CounterFiles::Memory() const {
  const std::string text = os::ReadControlFile(memory_stat_);
  // v1: "cache" holds tmpfs and shared memory too.
  return {os::FindKey(text, memory_on_v1_ ? "rss" : "anon").value_or(0),
          os::FindKey(text, memory_on_v1_ ? "cache" : "file").value_or(0)};
}

void CounterFiles::CpuTime(absl::Duration& user, absl::Duration& system) const {
  const std::string usage = os::ReadControlFile(run_cpu_stat_);
  user = absl::Microseconds(os::FindKey(usage, "user_usec").value_or(0));
  system = absl::Microseconds(os::FindKey(usage, "system_usec").value_or(0));
}

uint64_t CounterFiles::OomKills() const {
  return Key(memory_events_, "oom_kill");
}

uint64_t CounterFiles::Processes() const {
  return Number(pids_current_).value_or(0);
}

uint64_t CounterFiles::RunProcesses() const {
  const std::string ids = os::ReadControlFile(run_processes_);
  return static_cast<uint64_t>(std::count(ids.begin(), ids.end(), '\n'));
}

std::optional<uint64_t> CounterFiles::PeakProcesses() const {
  return Number(pids_peak_);
}

}  // namespace sandglass::sandbox
