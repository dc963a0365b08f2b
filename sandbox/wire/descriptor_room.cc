#include "sandbox/wire/descriptor_room.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "sandbox/os/process.h"

namespace sandglass::sandbox {
namespace {

constexpr char kOwnFiles[] = "/proc/self/fd";
constexpr int64_t kCountHoldsNanos = 50'000'000;

// How many descriptors were promised and aren't open yet.
std::atomic<uint64_t> coming = 0;

uint64_t CountEntries() {
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(kOwnFiles),
                                                    ::closedir);
  // There isn't even room for this directory's descriptor: all are in use.
  if (entries == nullptr) return MaxDescriptors();
  uint64_t count = 0;
  // glibc's readdir is unsafe only where threads share one stream.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = ::readdir(entries.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count - 1;  // not counting the directory's own
}

// Counting takes time in proportion to the number of files, so its result is
// kept for a moment.
class SlowCount {
 public:
  uint64_t Get() {
    const absl::MutexLock lock(&mutex_);
    const int64_t now = os::MonotonicNanos();
    if (counted_ns_ == 0 || now - counted_ns_ > kCountHoldsNanos) {
      count_ = CountEntries();
      counted_ns_ = now;
    }
    return count_;
  }

 private:
  absl::Mutex mutex_;
  int64_t counted_ns_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t count_ ABSL_GUARDED_BY(mutex_) = 0;
};

uint32_t Wanted(RoomFor what) {
  return what == RoomFor::kCommand ? kCommandDescriptors : kJailDescriptors;
}

}  // namespace

uint64_t OpenDescriptors() {
  // Since Linux 6.2 the directory's size is the number of its entries.
  struct stat info = {};
  if (::stat(kOwnFiles, &info) == 0 && info.st_size > 0) {
    return static_cast<uint64_t>(info.st_size);
  }
  static SlowCount* const count = new SlowCount;
  return count->Get();
}

uint64_t MaxDescriptors() {
  rlimit limit = {};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? uint64_t{limit.rlim_cur} : 0;
}

uint64_t DescriptorReserve(RoomFor what, uint64_t max) {
  constexpr uint64_t kMin = 64;
  constexpr uint64_t kEnough = 512;
  const uint64_t reserve = std::clamp(max / 16, kMin, kEnough);
  switch (what) {
    case RoomFor::kStock:
      return 2 * reserve;
    case RoomFor::kJail:
      return reserve;
    case RoomFor::kCommand:
      return reserve / 2;
  }
  return reserve;
}

absl::StatusOr<DescriptorRoom> DescriptorRoom::Find(RoomFor what) {
  const uint32_t count = Wanted(what);
  // ORDER: the promise is recorded before the check, so that of two threads
  // that check at the same time at least one sees the other's promise.
  const uint64_t promised = coming.fetch_add(count) + count;
  DescriptorRoom room(count);
  const uint64_t max = MaxDescriptors();
  const uint64_t open = OpenDescriptors();
  if (open + promised + DescriptorReserve(what, max) <= max) return room;
  return absl::ResourceExhaustedError(absl::StrCat(
      "the server has ", open, " of at most ", max,
      " files open, which leaves no room for one more ",
      what == RoomFor::kCommand ? "process" : "jail",
      "; end sessions that are not needed, or try again later. The operator "
      "can raise the limit (LimitNOFILE of the service, ulimit -n)"));
}

DescriptorRoom::DescriptorRoom(DescriptorRoom&& other) noexcept
    : count_(std::exchange(other.count_, 0)) {}

DescriptorRoom::~DescriptorRoom() { coming.fetch_sub(count_); }

absl::Status DescriptorsLost() {
  return absl::ResourceExhaustedError(
      "the server, or the whole host, has no room for more open files, so that "
      "what was made for this call was ended again; try again later. The "
      "operator can raise the limit (LimitNOFILE of the service, ulimit -n)");
}

}  // namespace sandglass::sandbox
