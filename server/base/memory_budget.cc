#include "server/base/memory_budget.h"

#include <fcntl.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sandbox/os/files.h"

namespace sandglass::server {
namespace {

constexpr uint64_t kFallback = uint64_t{1} << 30;

// No limit is known.
constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

std::string ReadSmallFile(const std::string& path) {
  return os::ReadSmallFile(AT_FDCWD, path.c_str()).value_or("");
}

// Returns kNone for "max", for the number that stands for it in v1, and when
// there is no file.
uint64_t ReadLimit(const std::string& path) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(ReadSmallFile(path), &value)) return kNone;
  return value >= uint64_t{1} << 60 ? kNone : value;
}

// Returns the bytes of a line such as "MemTotal: 16000 kB".
uint64_t ReadMeminfo(const std::string& path, absl::string_view name) {
  const std::string text = ReadSmallFile(path);
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    absl::ConsumeSuffix(&line, "kB");
    uint64_t kib = 0;
    if (absl::SimpleAtoi(line, &kib)) return kib * 1024;
  }
  return kNone;
}

// Returns the tightest limit of the cgroup `path` below `base` and of those
// above it.
uint64_t TightestLimit(const std::string& base, std::string path,
                       const std::string& file) {
  uint64_t tightest = kNone;
  while (true) {
    tightest =
        std::min(tightest, ReadLimit(absl::StrCat(base, path, "/", file)));
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return tightest;
    path.resize(slash);
  }
}

uint64_t CgroupLimit(const MemoryFiles& files) {
  uint64_t tightest = kNone;
  const std::string text = ReadSmallFile(files.self_cgroup);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    // hierarchy:controllers:path; v2 has number 0 and no controllers.
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::string path = parts[2] == "/" ? "" : parts[2];
    if (parts[0] == "0" && parts[1].empty()) {
      tightest = std::min(
          {tightest, TightestLimit(files.cgroup_root, path, "memory.max"),
           TightestLimit(absl::StrCat(files.cgroup_root, "/unified"), path,
                         "memory.max")});
      continue;
    }
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "memory") !=
        controllers.end()) {
      tightest = std::min(
          tightest, TightestLimit(absl::StrCat(files.cgroup_root, "/memory"),
                                  path, "memory.limit_in_bytes"));
    }
  }
  return tightest;
}

}  // namespace

uint64_t DefaultMemoryBudget(const MemoryFiles& files) {
  const uint64_t whole =
      std::min(ReadMeminfo(files.meminfo, "MemAvailable:"), CgroupLimit(files));
  return whole == kNone ? kFallback : whole / 10 * 7;
}

uint64_t MachineMemory(const MemoryFiles& files) {
  return std::min(ReadMeminfo(files.meminfo, "MemTotal:"), CgroupLimit(files));
}

}  // namespace sandglass::server
