#include "tests/security/host/host_meter.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/support/host/process.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {
namespace {

constexpr pid_t kKernelThreads = 2;  // the parent of all of them

std::map<std::string, int64_t> MemoryInfo() {
  std::map<std::string, int64_t> values;
  std::istringstream lines(ReadFile("/proc/meminfo"));
  std::string name;
  std::string rest;
  int64_t kibibytes = 0;
  while (lines >> name >> kibibytes && std::getline(lines, rest)) {
    values[name] = kibibytes << 10;
  }
  return values;
}

int64_t FirstNumber(const char* path) {
  int64_t value = 0;
  std::istringstream(ReadFile(path)) >> value;
  return value;
}

// Free pages that processors keep at hand, of which none is in MemFree: since
// Linux 6.7 up to gigabytes after a lot was given back (proc(5), zoneinfo).
int64_t PagesAtHand() {
  std::istringstream words(ReadFile("/proc/zoneinfo"));
  std::string word;
  int64_t pages = 0;
  while (words >> word) {
    int64_t count = 0;
    if (word == "count:" && words >> count) pages += count;
  }
  return pages * ::sysconf(_SC_PAGESIZE);
}

int64_t MemoryGroups() {
  std::istringstream lines(ReadFile("/proc/cgroups"));
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    std::string name;
    int64_t hierarchy = 0;
    int64_t groups = 0;
    if (fields >> name >> hierarchy >> groups && name == "memory") {
      return groups;
    }
  }
  return 0;
}

// proc(5): the parent is the 4th field, utime and stime the 14th and 15th; the
// 2nd may hold anything and ends with the last bracket.
absl::Duration KernelThreads() {
  int64_t ticks = 0;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc", ignored)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    const std::string stat = ReadProc(pid, "stat");
    const size_t bracket = stat.rfind(')');
    if (bracket == std::string::npos) continue;
    std::istringstream fields(stat.substr(bracket + 1));
    std::string word;
    int64_t value = 0;
    for (int field = 3; field <= 15 && fields >> word; ++field) {
      if (!absl::SimpleAtoi(word, &value)) value = 0;
      if (field == 4 && value != kKernelThreads) break;
      if (field >= 14) ticks += value;
    }
  }
  return absl::Seconds(static_cast<double>(ticks) /
                       static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

constexpr absl::Duration kStep = absl::Milliseconds(20);

}  // namespace

HostUse MeasureHost() {
  HostUse use;
  std::map<std::string, int64_t> memory = MemoryInfo();
  use.kernel_memory = memory["MemTotal:"] - memory["MemFree:"] -
                      memory["Buffers:"] - memory["Cached:"] -
                      memory["AnonPages:"] - memory["SReclaimable:"] -
                      memory["PageTables:"] - PagesAtHand();
  use.droppable = memory["SReclaimable:"];
  use.open_files = FirstNumber("/proc/sys/fs/file-nr");
  use.memory_groups = MemoryGroups();
  use.kernel_threads = KernelThreads();
  return use;
}

std::string Describe(const HostUse& use) {
  return absl::StrCat("kernel memory ", use.kernel_memory >> 20,
                      " MiB, droppable ", use.droppable >> 20,
                      " MiB, open files ", use.open_files, ", memory groups ",
                      use.memory_groups, ", kernel threads ",
                      absl::ToInt64Milliseconds(use.kernel_threads), " ms");
}

HostMeter::HostMeter()
    : before_(MeasureHost()), max_(before_), thread_([this] {
        while (!stop_) {
          const HostUse now = MeasureHost();
          max_.kernel_memory = std::max(max_.kernel_memory, now.kernel_memory);
          max_.droppable = std::max(max_.droppable, now.droppable);
          max_.open_files = std::max(max_.open_files, now.open_files);
          max_.memory_groups = std::max(max_.memory_groups, now.memory_groups);
          max_.kernel_threads =
              std::max(max_.kernel_threads, now.kernel_threads);
          ::usleep(static_cast<useconds_t>(absl::ToInt64Microseconds(kStep)));
        }
      }) {}

HostMeter::~HostMeter() { (void)Most(); }

HostUse HostMeter::Most() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  return max_;
}

}  // namespace sandglass::testing
