#ifndef SANDGLASS_SANDBOX_WIRE_DESCRIPTOR_ROOM_H_
#define SANDGLASS_SANDBOX_WIRE_DESCRIPTOR_ROOM_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sandglass::sandbox {

// A process may have so many files open and no more (RLIMIT_NOFILE). The server
// looks how many there are before it asks for something that holds some, and
// refuses what it could not hold: once a spawner or an init has made it, its
// descriptors would be lost on their way here. Thread-safe.

// What the server has open for one jail at most: of one that waits for its run
// or has it; of one that serves a session, once its first kernel runs. The last
// with its file agent and a command's watch on it.
inline constexpr uint32_t kJailDescriptors = 30;
inline constexpr uint32_t kSessionDescriptors = 17;
// And for one command of a session, beside its jail.
inline constexpr uint32_t kCommandDescriptors = 10;

// What wants room. The first are refused while there is still some for the
// later ones: what is there already goes on working.
enum class RoomFor {
  kStock,    // a jail made ahead
  kJail,     // a jail that a run or a session waits for
  kCommand,  // a process in a session's jail
};

// Room that was found and isn't filled yet. Held until the descriptors are
// there, so that others who look meanwhile don't count on it.
class DescriptorRoom {
 public:
  // RESOURCE_EXHAUSTED: there is none; the message says how many files are open
  // and what can be done.
  static absl::StatusOr<DescriptorRoom> Find(RoomFor what);

  DescriptorRoom(DescriptorRoom&& other) noexcept;
  DescriptorRoom& operator=(DescriptorRoom&&) = delete;
  ~DescriptorRoom();

 private:
  explicit DescriptorRoom(uint32_t count) : count_(count) {}
  uint32_t count_;
};

// Files that this process has open. Costs a system call; before Linux 6.2 it is
// counted at most twenty times a second.
uint64_t OpenDescriptors();
// As many as it may have.
uint64_t MostDescriptors();
// Of those, as many as `what` may not touch.
uint64_t DescriptorReserve(RoomFor what, uint64_t most);

// To open a counter's file takes longer than to read it, so some sessions keep
// theirs open, as long as that takes no more than a sixteenth of what there may
// be: how many, and how many descriptors more each of them holds.
inline constexpr uint32_t kKeptDescriptors = 11;
constexpr uint64_t KeptSessions(uint64_t most) {
  return most / 16 / kKeptDescriptors;
}

// RESOURCE_EXHAUSTED: what was asked for had been made, but its descriptors
// found no room in this process, so that it is ended again.
absl::Status DescriptorsLost();

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_WIRE_DESCRIPTOR_ROOM_H_
