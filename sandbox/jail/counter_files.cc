#include "sandbox/jail/counter_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "sandbox/os/files.h"
#include "sandbox/os/io.h"

namespace sandglass::sandbox {
namespace {

// The number of settled jails that keep their files open.
std::atomic<uint64_t> jails_with_files = 0;

os::Fd OpenFile(const os::Fd& directory, const char* name) {
  return os::Fd(::openat(directory.get(), name, O_RDONLY | O_CLOEXEC));
}

// While the process has no room for another descriptor, waits for some time: a
// counter that isn't read would look like one that is 0.
os::Fd OpenForSure(const os::Fd& directory, const char* name) {
  constexpr int kMaxTries = 100;
  os::Fd file = OpenFile(directory, name);
  for (int tries = 1; !file.valid() && tries < kMaxTries &&
                      (errno == EMFILE || errno == ENFILE || errno == ENOMEM);
       ++tries) {
    ::usleep(os::kShortagePauseMicros);
    file = OpenFile(directory, name);
  }
  return file;
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

CounterFiles::CounterFiles(CounterGroups groups)
    : groups_(std::move(groups)),
      memory_on_v1_(groups_.memory.valid()),
      cpu_on_v1_(groups_.cpu.valid()) {
  constexpr auto kV2 = &CounterGroups::v2;
  if (memory_on_v1_) {
    constexpr auto kMemory = &CounterGroups::memory;
    memory_events_ = Find(kMemory, {"memory.oom_control"});
    // Where swap is accounted, the limit for memory and swap together is as
    // high as that for memory and is charged first, so that the other one
    // counts nothing. (On Linux 6.18 neither counts.)
    memory_hits_ = Find(kMemory, {"memory.memsw.failcnt", "memory.failcnt"});
    // The peak of memory and swap together, since the limit is for both.
    memory_peak_ = Find(kMemory, {"memory.memsw.max_usage_in_bytes",
                                  "memory.max_usage_in_bytes"});
    memory_stat_ = Find(kMemory, {"memory.stat"});
  } else {
    memory_events_ = Find(kV2, {"memory.events"});
    // memory.peak exists since Linux 5.19.
    memory_peak_ = Find(kV2, {"memory.peak", "memory.current"});
    memory_stat_ = Find(kV2, {"memory.stat"});
  }
  const auto pids = groups_.pids.valid() ? &CounterGroups::pids : kV2;
  pids_events_ = Find(pids, {"pids.events"});
  pids_current_ = Find(pids, {"pids.current"});
  pids_peak_ = Find(pids, {"pids.peak"});
  cpu_stat_ = Find(cpu_on_v1_ ? &CounterGroups::cpu : kV2, {"cpu.stat"});
  // v2 measures processor time in every group, with or without the controller.
  run_cpu_stat_ = Find(kV2, {"run/cpu.stat"});
  run_processes_ = Find(kV2, {"run/cgroup.procs"});
}

CounterFiles::~CounterFiles() {
  if (state_ == State::kFiles) --jails_with_files;
}

void CounterFiles::Settle(uint64_t max_kept) {
  if (jails_with_files.fetch_add(1) < max_kept) {
    state_ = State::kFiles;
    groups_ = CounterGroups();
    return;
  }
  --jails_with_files;
  state_ = State::kLate;
  for (File* file : {&memory_events_, &memory_hits_, &memory_peak_,
                     &memory_stat_, &pids_events_, &pids_current_, &pids_peak_,
                     &cpu_stat_, &run_cpu_stat_, &run_processes_}) {
    file->fd.reset();
  }
}

os::Fd CounterFiles::Open(const char* name) const {
  return OpenForSure(groups_.v2, name);
}

CounterFiles::File CounterFiles::Find(
    os::Fd CounterGroups::*group,
    std::initializer_list<const char*> names) const {
  for (const char* name : names) {
    os::Fd fd = OpenForSure(groups_.*group, name);
    if (fd.valid()) return {group, name, std::move(fd)};
  }
  return {};
}

std::string CounterFiles::Text(const File& file) const {
  if (state_ != State::kLate || file.name == nullptr) {
    return os::ReadControlFile(file.fd);
  }
  return os::ReadControlFile(OpenForSure(groups_.*file.group, file.name));
}

uint64_t CounterFiles::Key(const File& file, absl::string_view key) const {
  return os::FindKey(Text(file), key).value_or(0);
}

std::optional<uint64_t> CounterFiles::Number(const File& file) const {
  const std::string text = Text(file);
  uint64_t value = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &value)) {
    return std::nullopt;
  }
  return value;
}

JailCounters CounterFiles::Read() const {
  JailCounters result;
  const std::string memory = Text(memory_events_);
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
  const std::string cpu = Text(cpu_stat_);
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
  const std::string text = Text(memory_stat_);
  // v1: "cache" includes tmpfs and shared memory.
  return {os::FindKey(text, memory_on_v1_ ? "rss" : "anon").value_or(0),
          os::FindKey(text, memory_on_v1_ ? "cache" : "file").value_or(0)};
}

void CounterFiles::CpuTime(absl::Duration& user, absl::Duration& system) const {
  const std::string usage = Text(run_cpu_stat_);
  user = absl::Microseconds(os::FindKey(usage, "user_usec").value_or(0));
  system = absl::Microseconds(os::FindKey(usage, "system_usec").value_or(0));
}

uint64_t CounterFiles::OomKills() const {
  return Key(memory_events_, "oom_kill");
}

uint64_t CounterFiles::Processes() const {
  return Number(pids_current_).value_or(0);
}

std::string CounterFiles::RunList() const { return Text(run_processes_); }

uint64_t CounterFiles::RunProcesses() const {
  const std::string ids = RunList();
  return static_cast<uint64_t>(std::count(ids.begin(), ids.end(), '\n'));
}

std::optional<uint32_t> CounterFiles::PeakProcesses() const {
  const std::optional<uint64_t> peak = Number(pids_peak_);
  if (!peak) return std::nullopt;
  return static_cast<uint32_t>(*peak > 0 ? *peak - 1 : 0);
}

}  // namespace sandglass::sandbox
