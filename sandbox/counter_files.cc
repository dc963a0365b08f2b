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

policy::Counters Since(const JailCounters& before, const JailCounters& now) {
  const auto rise = [](uint64_t was, uint64_t is) {
    return is > was ? is - was : 0;
  };
  const policy::Counters& was = before.counters;
  const policy::Counters& is = now.counters;
  policy::Counters rose;
  rose.oom_kills = rise(was.oom_kills, is.oom_kills);
  rose.memory_limit_hits = rise(was.memory_limit_hits, is.memory_limit_hits);
  rose.pids_limit_hits = rise(was.pids_limit_hits, is.pids_limit_hits);
  rose.cpu_throttled_periods =
      rise(was.cpu_throttled_periods, is.cpu_throttled_periods);
  rose.cpu_throttled_time = std::max(
      is.cpu_throttled_time - was.cpu_throttled_time, absl::ZeroDuration());
  if (rose.pids_limit_hits > 0) {
    rose.jail_peak_processes = is.jail_peak_processes;
  }
  if (rose.oom_kills > 0 && now.ooms_at_limit) {
    rose.oom_at_limit = *now.ooms_at_limit > before.ooms_at_limit.value_or(0);
  } else if (rose.oom_kills > 0 && now.peak_memory_bytes > 0) {
    rose.jail_peak_memory_bytes = now.peak_memory_bytes;
  }
  return rose;
}

CounterFiles::CounterFiles(const CounterGroups& groups)
    : memory_on_v1_(groups.memory.valid()), cpu_on_v1_(groups.cpu.valid()) {
  if (memory_on_v1_) {
    memory_events_ = Open(groups.memory, "memory.oom_control");
    // Where swap is accounted, memory and swap together have the same limit and
    // are charged first, so that the other counts nothing. (On Linux 6.18
    // neither does.)
    memory_hits_ = Open(groups.memory, "memory.memsw.failcnt");
    if (!memory_hits_.valid()) {
      memory_hits_ = Open(groups.memory, "memory.failcnt");
    }
    // Of memory and swap together, which is what the limit is of.
    memory_peak_ = Open(groups.memory, "memory.memsw.max_usage_in_bytes");
    if (!memory_peak_.valid()) {
      memory_peak_ = Open(groups.memory, "memory.max_usage_in_bytes");
    }
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
  if (!memory_on_v1_) {
    result.ooms_at_limit =
        os::FindKey(memory, "oom").value_or(result.counters.oom_kills);
  }
  result.peak_memory_bytes = Number(memory_peak_).value_or(0);
  result.counters.pids_limit_hits = Key(pids_events_, "max");
  if (result.counters.pids_limit_hits > 0) {
    result.counters.jail_peak_processes = PeakProcesses();
  }
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

std::optional<uint32_t> CounterFiles::PeakProcesses() const {
  const std::optional<uint64_t> peak = Number(pids_peak_);
  if (!peak) return std::nullopt;
  return static_cast<uint32_t>(*peak > 0 ? *peak - 1 : 0);
}

}  // namespace sandglass::sandbox
