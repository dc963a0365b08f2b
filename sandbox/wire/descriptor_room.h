#ifndef SANDGLASS_SANDBOX_WIRE_DESCRIPTOR_ROOM_H_
#define SANDGLASS_SANDBOX_WIRE_DESCRIPTOR_ROOM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sandglass::sandbox {

// A process may have only a limited number of files open (RLIMIT_NOFILE).
// Before the server asks a spawner or an init for something that comes with
// descriptors, it checks how many files are open, and refuses what it could not
// hold: once such a thing has been made, its descriptors would be lost on their
// way here. Thread-safe.

// The most descriptors that the server has open for one jail: for a jail that
// waits for its run or has it, and for a jail that serves a session, once its
// first kernel runs. The latter includes the session's file agent and a
// command's watch on it.
inline constexpr uint32_t kJailDescriptors = 32;
inline constexpr uint32_t kSessionDescriptors = 19;
// The most descriptors for one command of a session, in addition to those of
// its jail.
inline constexpr uint32_t kCommandDescriptors = 10;

// What the room is for. Uses earlier in this list are refused while some room
// is left for the later ones, so that what exists already goes on working.
enum class RoomFor {
  kStock,    // a jail made ahead
  kJail,     // a jail that a run or a session waits for
  kCommand,  // a process in a session's jail
};

// Room that was found and isn't filled yet. It is reserved until the
// descriptors have arrived, so that others who look meanwhile don't count on
// it.
class DescriptorRoom {
 public:
  // RESOURCE_EXHAUSTED: there is no room; the message says how many files are
  // open and what can be done.
  static absl::StatusOr<DescriptorRoom> Find(RoomFor what);

  DescriptorRoom(DescriptorRoom&& other) noexcept;
  DescriptorRoom& operator=(DescriptorRoom&&) = delete;
  ~DescriptorRoom();

 private:
  explicit DescriptorRoom(uint32_t count) : count_(count) {}
  uint32_t count_;
};

// The number of files that this process has open. Costs a system call; before
// Linux 6.2 the files are counted one by one, at most twenty times a second.
uint64_t OpenDescriptors();
// The number of files that this process may have open.
uint64_t MaxDescriptors();
// How many of those `what` has to leave free.
uint64_t DescriptorReserve(RoomFor what, uint64_t max);

// Opening a counter's file takes longer than reading it, so some sessions keep
// theirs open, as long as that takes at most a sixteenth of the permitted
// number. kKeptDescriptors is how many additional descriptors each such session
// holds, KeptSessions how many sessions may.
inline constexpr uint32_t kKeptDescriptors = 11;
constexpr uint64_t KeptSessions(uint64_t max) {
  return max / 16 / kKeptDescriptors;
}

// RESOURCE_EXHAUSTED: what was asked for had been made, but this process had no
// room for its descriptors, so that it is ended again.
absl::Status DescriptorsLost();

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_DESCRIPTOR_ROOM_H_
