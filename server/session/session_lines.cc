#include "server/session/session_lines.h"

#include <string>

#include "server/base/errors.h"

namespace sandglass::server {
namespace {

// What a run takes beside its request.
constexpr uint64_t kRunBytes = 4096;
constexpr absl::Duration kRetryAfter = absl::Seconds(1);

uint64_t BytesOf(const Run& run) {
  return run.origin().request_bytes + kRunBytes;
}

SharesOptions OptionsFor(uint64_t most_bytes) {
  SharesOptions options = WithReserveWithin(most_bytes);
  options.most_per_caller = most_bytes / 2;
  return options;
}

}  // namespace

SessionLines::SessionLines(uint64_t most_bytes)
    : most_bytes_(most_bytes), bytes_(OptionsFor(most_bytes)) {}

absl::Status SessionLines::Add(const Run& run) {
  const std::string& caller = run.origin().caller.name;
  absl::MutexLock lock(&mutex_);
  const Shares::Room room = bytes_.RoomFor(caller, BytesOf(run));
  const uint64_t held = bytes_.held_by(caller);
  bytes_.Take(caller, BytesOf(run));
  switch (room) {
    case Shares::Room::kYes:
      return absl::OkStatus();
    case Shares::Room::kCallerHasItsShare:
      return QueueBytesShareFull(caller, held, most_bytes_, kRetryAfter);
    case Shares::Room::kNone:
      break;
  }
  return QueueBytesFull(most_bytes_, kRetryAfter);
}

void SessionLines::Remove(const Run& run) {
  absl::MutexLock lock(&mutex_);
  bytes_.Give(run.origin().caller.name, BytesOf(run));
}

}  // namespace sandglass::server
