#include "server/base/memory_budget.h"

#include <fcntl.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "sandbox/os/files.h"

namespace sandglass::server {
namespace {

constexpr uint64_t kFallback = uint64_t{1} << 30;
constexpr uint64_t kMostReserve = uint64_t{1} << 30;

// No limit is known.
constexpr uint64_t kNone = std::numeric_limits<uint64_t>::max();

std::string ReadSmallFile(const std::string& path) {
  return os::ReadSmallFile(AT_FDCWD, path.c_str()).value_or("");
}

// Returns kNone for "max", for the number that stands for it in v1, and when
// there is no file.
uint64_t ReadNumber(const std::string& path) {
  uint64_t value = 0;
  if (!absl::SimpleAtoi(ReadSmallFile(path), &value)) return kNone;
  return value >= uint64_t{1} << 60 ? kNone : value;
}

// Returns the number of a line such as "MemTotal: 16000 kB".
std::optional<uint64_t> ReadLine(const std::string& path,
                                 absl::string_view name) {
  const std::string text = ReadSmallFile(path);
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::ConsumePrefix(&line, name)) continue;
    absl::ConsumeSuffix(&line, "kB");
    uint64_t number = 0;
    if (absl::SimpleAtoi(line, &number)) return number;
  }
  return std::nullopt;
}

// The names that one version of control groups has for the same things.
struct MemoryNames {
  const char* limit;
  const char* usage;
  const char* unused_files;  // a line of memory.stat
  const char* used_files;    // the same
};
constexpr MemoryNames kV1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                             "total_inactive_file ", "total_active_file "};
constexpr MemoryNames kV2 = {"memory.max", "memory.current", "inactive_file ",
                             "active_file "};

// What is asked of a group.
using GroupSize = uint64_t (*)(const std::string& directory,
                               const MemoryNames& names);

uint64_t LimitOf(const std::string& directory, const MemoryNames& names) {
  return ReadNumber(directory + names.limit);
}

// How much of its limit isn't in use, with `files` of those in use.
uint64_t RoomBeside(uint64_t files, const std::string& directory,
                    const MemoryNames& names) {
  const uint64_t limit = LimitOf(directory, names);
  const uint64_t usage = ReadNumber(directory + names.usage);
  if (limit == kNone || usage == kNone) return kNone;
  return limit - std::min(limit, usage - std::min(usage, files));
}

uint64_t UnusedFilesOf(const std::string& directory, const MemoryNames& names) {
  return ReadLine(directory + "memory.stat", names.unused_files).value_or(0);
}

uint64_t RoomOf(const std::string& directory, const MemoryNames& names) {
  return RoomBeside(UnusedFilesOf(directory, names), directory, names);
}

uint64_t RoomWithoutFilesOf(const std::string& directory,
                            const MemoryNames& names) {
  const uint64_t used =
      ReadLine(directory + "memory.stat", names.used_files).value_or(0);
  return RoomBeside(UnusedFilesOf(directory, names) + used, directory, names);
}

// Returns the least that a group says, of the cgroup `path` below `base` and
// those above it.
uint64_t LeastOf(GroupSize size, const std::string& base, std::string path,
                 const MemoryNames& names) {
  uint64_t least = kNone;
  while (true) {
    least = std::min(least, size(absl::StrCat(base, path, "/"), names));
    const size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

uint64_t LeastOfOurGroups(GroupSize size, const MemoryFiles& files) {
  uint64_t least = kNone;
  const std::string text = ReadSmallFile(files.self_cgroup);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    // hierarchy:controllers:path; v2 has number 0 and no controllers.
    const std::vector<std::string> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    const std::string path = parts[2] == "/" ? "" : parts[2];
    if (parts[0] == "0" && parts[1].empty()) {
      const std::string hybrid = absl::StrCat(files.cgroup_root, "/unified");
      least = std::min({least, LeastOf(size, files.cgroup_root, path, kV2),
                        LeastOf(size, hybrid, path, kV2)});
      continue;
    }
    const std::vector<std::string> controllers = absl::StrSplit(parts[1], ',');
    if (std::find(controllers.begin(), controllers.end(), "memory") !=
        controllers.end()) {
      least = std::min(
          least,
          LeastOf(size, absl::StrCat(files.cgroup_root, "/memory"), path, kV1));
    }
  }
  return least;
}

uint64_t ReadMeminfo(const MemoryFiles& files, absl::string_view name) {
  const std::optional<uint64_t> kib = ReadLine(files.meminfo, name);
  return kib.has_value() ? *kib * 1024 : kNone;
}

}  // namespace

uint64_t DefaultMemoryBudget(const MemoryFiles& files) {
  const uint64_t whole = std::min(ReadMeminfo(files, "MemAvailable:"),
                                  LeastOfOurGroups(LimitOf, files));
  return whole == kNone ? kFallback : whole / 10 * 7;
}

uint64_t MachineMemory(const MemoryFiles& files) {
  return std::min(ReadMeminfo(files, "MemTotal:"),
                  LeastOfOurGroups(LimitOf, files));
}

namespace {

// What is left of that room beyond the reserve.
int64_t SpareOf(GroupSize room_of, const MemoryFiles& files) {
  const uint64_t room = std::min(ReadMeminfo(files, "MemAvailable:"),
                                 LeastOfOurGroups(room_of, files));
  if (room == kNone) return std::numeric_limits<int64_t>::max();
  const uint64_t reserve = std::min(MachineMemory(files) / 16, kMostReserve);
  return static_cast<int64_t>(room) - static_cast<int64_t>(reserve);
}

}  // namespace

int64_t SpareMemory(const MemoryFiles& files) { return SpareOf(RoomOf, files); }

int64_t SpareBesidePrograms(const MemoryFiles& files) {
  return SpareOf(RoomWithoutFilesOf, files);
}

}  // namespace sandglass::server
