#include "sandbox/jail/lock_census.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "sandbox/jail/jail_process.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"

namespace sandglass::sandbox {
namespace {

constexpr absl::Duration kLookEvery = absl::Seconds(1);
// Lines of what waits count as well, but beside the locks.
constexpr size_t kMaxLines = 2 * kMaxListedLocks;
// From this number of locks on, it is worth finding out which group a process
// is in.
constexpr size_t kWorthAsking = 16;

// Returns nothing while the machine has few locks.
std::map<pid_t, size_t> ReadLocks() {
  const os::Fd file(::open("/proc/locks", O_RDONLY | O_CLOEXEC));
  std::string text;  // a line may be in two pages
  std::map<pid_t, size_t> counts;
  size_t locks = 0;
  size_t lines = 0;
  while (locks < kMaxListedLocks && lines < kMaxLines) {
    const size_t left = text.size();
    text.resize(left + os::kProcPageBytes);
    const ssize_t size =
        ::read(file.get(), text.data() + left, os::kProcPageBytes);
    // Less than a page where the next lock and those that wait for it don't
    // fit: only an empty one is the last.
    if (size <= 0) return {};
    text.resize(left + static_cast<size_t>(size));
    const size_t whole = text.rfind('\n') + 1;  // 0: there is none
    locks += CountLocks(absl::string_view(text).substr(0, whole), counts);
    lines += static_cast<size_t>(std::count(
        text.begin(), text.begin() + static_cast<ptrdiff_t>(whole), '\n'));
    text.erase(0, whole);
  }
  return counts;
}

}  // namespace

size_t CountLocks(absl::string_view lines, std::map<pid_t, size_t>& counts) {
  size_t seen = 0;
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) {
    // "1: POSIX  ADVISORY  WRITE 123 00:1f:45 0 EOF", with "->" after the first
    // number when the request waits.
    const std::vector<absl::string_view> words =
        absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.size() < 5 || words[1] == "->") continue;
    ++seen;
    // flock(2)'s locks and leases are as large, and fill the list as well.
    pid_t pid = 0;
    if (absl::SimpleAtoi(words[4], &pid) && pid > 0) ++counts[pid];
  }
  return seen;
}

LockCensus& LockCensus::Shared() {
  static auto& census = *new LockCensus;
  return census;
}

void LockCensus::Start() {
  absl::MutexLock one_at_a_time(&starting_);
  if (thread_.joinable()) return;
  thread_ = std::thread([this] { Work(); });
}

void LockCensus::Stop() {
  absl::MutexLock one_at_a_time(&starting_);
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  if (thread_.joinable()) thread_.join();
  absl::MutexLock lock(&mutex_);
  stopping_ = false;
}

void LockCensus::Work() {
  absl::MutexLock lock(&mutex_);
  do {
    mutex_.Unlock();
    std::map<std::string, size_t> counts;
    for (const auto& [pid, count] : ReadLocks()) {
      if (count < kWorthAsking) continue;
      if (const std::string group = GroupOfProcess(pid); !group.empty()) {
        counts[group] += count;
      }
    }
    mutex_.Lock();
    counts_ = std::move(counts);
    many_ = !counts_.empty();
  } while (!mutex_.AwaitWithTimeout(absl::Condition(&stopping_), kLookEvery));
  counts_.clear();
  many_ = false;
}

uint64_t LockCensus::BytesOf(absl::string_view group) const {
  // The root group isn't any jail's.
  if (!many() || group.size() < 2) return 0;
  size_t count = 0;
  absl::MutexLock lock(&mutex_);
  for (const auto& [place, locks] : counts_) {
    absl::string_view rest = place;
    if (absl::ConsumePrefix(&rest, group) &&
        (rest.empty() || rest.front() == '/')) {
      count += locks;
    }
  }
  return count * kRecordLockBytes;
}

}  // namespace sandglass::sandbox
