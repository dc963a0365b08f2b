#include "server/base/memory_budget.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace sandglass::server {
namespace {

constexpr uint64_t kFallback = uint64_t{1} << 30;

std::string ReadSmallFile(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns nullopt for "max", for the number that stands for it in v1, and when
// there is no file.
std::optional<uint64_t> ReadLimit(const std::string& path) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(ReadSmallFile(path), &value)) return std::nullopt;
  if (value >= uint64_t{1} << 60) return std::nullopt;
  return value;
}

// Returns the bytes of a line such as "MemTotal: 16000 kB".
std::optional<uint64_t> ReadMeminfo(const std::string& path,
                                    absl::string_view name) {
  const std::string text = ReadSmallFile(path);
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    absl::ConsumeSuffix(&line, "kB");
    uint64_t kib = 0;
    if (absl::SimpleAtoi(line, &kib)) return kib * 1024;
  }
  return std::nullopt;
}

// Returns the tightest limit of the cgroup `path` below `base` and of those
// above it.
std::optional<uint64_t> TightestLimit(const std::string& base, std::string path,
                                      const std::string& file) {
  std::optional<uint64_t> tightest;
  while (true) {
    if (const auto limit = ReadLimit(absl::StrCat(base, path, "/", file))) {
      tightest = std::min(tightest.value_or(*limit), *limit);
    }
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return tightest;
    path.resize(slash);
  }
}

std::optional<uint64_t> CgroupLimit(const MemoryFiles& files) {
  std::optional<uint64_t> tightest;
  const auto consider = [&](const std::optional<uint64_t>& limit) {
    if (limit) tightest = std::min(tightest.value_or(*limit), *limit);
  };
  const std::string text = ReadSmallFile(files.self_cgroup);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    // hierarchy:controllers:path; v2 has number 0 and no controllers.
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::string path = parts[2] == "/" ? "" : parts[2];
    if (parts[0] == "0" && parts[1].empty()) {
      consider(TightestLimit(files.cgroup_root, path, "memory.max"));
      consider(TightestLimit(absl::StrCat(files.cgroup_root, "/unified"), path,
                             "memory.max"));
      continue;
    }
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "memory") !=
        controllers.end()) {
      consider(TightestLimit(absl::StrCat(files.cgroup_root, "/memory"), path,
                             "memory.limit_in_bytes"));
    }
  }
  return tightest;
}

}  // namespace

uint64_t DefaultMemoryBudget(const MemoryFiles& files) {
  const std::optional<uint64_t> available =
      ReadMeminfo(files.meminfo, "MemAvailable:");
  const std::optional<uint64_t> limit = CgroupLimit(files);
  if (!available && !limit) return kFallback;
  const uint64_t whole =
      std::min(available.value_or(UINT64_MAX), limit.value_or(UINT64_MAX));
  return whole / 10 * 7;
}

uint64_t MachineMemory(const MemoryFiles& files) {
  return std::min(ReadMeminfo(files.meminfo, "MemTotal:").value_or(UINT64_MAX),
                  CgroupLimit(files).value_or(UINT64_MAX));
}

}  // namespace sandglass::server
