#include "server/session/session_lines.h"

#include "absl/time/time.h"
#include "server/base/errors.h"

namespace sandglass::server {
namespace {

// The memory that a run takes besides its request.
constexpr uint64_t kRunBytes = 4096;
constexpr absl::Duration kRetryAfter = absl::Seconds(1);

SharesOptions OptionsFor(uint64_t max_bytes) {
  SharesOptions options = WithReserveWithin(max_bytes);
  options.max_per_caller = max_bytes / 2;
  return options;
}

}  // namespace

SessionLines::SessionLines(uint64_t max_bytes)
    : max_bytes_(max_bytes), bytes_(OptionsFor(max_bytes)) {}

absl::Status SessionLines::Add(const std::string& caller,
                               uint64_t request_bytes) {
  const uint64_t bytes = request_bytes + kRunBytes;
  absl::MutexLock lock(&mutex_);
  const Shares::Room room = bytes_.RoomFor(caller, bytes);
  const uint64_t held = bytes_.held_by(caller);
  bytes_.Acquire(caller, bytes);
  switch (room) {
    case Shares::Room::kYes:
      return absl::OkStatus();
    case Shares::Room::kCallerHasItsShare:
      return QueueBytesShareFull(caller, held, max_bytes_, kRetryAfter);
    case Shares::Room::kNone:
      break;
  }
  return QueueBytesFull(max_bytes_, kRetryAfter);
}

void SessionLines::Remove(const std::string& caller, uint64_t request_bytes) {
  absl::MutexLock lock(&mutex_);
  bytes_.Release(caller, request_bytes + kRunBytes);
}

}  // namespace sandglass::server
