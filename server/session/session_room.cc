// Whether there may be more sessions.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/time/time.h"
#include "server/base/errors.h"
#include "server/session/session_table.h"

namespace sandglass::server {

absl::Status SessionTable::TenantRoom(const Identity& caller,
                                      const Wanted& wanted,
                                      const Wanted& gone) const {
  const std::shared_ptr<const PolicySet> policy = policy_.Get();
  const policy::Tenant* tenant = policy->tenants()->Find(caller.tenant);
  if (tenant == nullptr) return absl::OkStatus();
  Wanted has;
  for (const auto& [number, session] : sessions_) {
    if (session->caller().tenant == caller.tenant) has.Add(session->spec());
  }
  has.count -= gone.count;
  has.memory_bytes -= gone.memory_bytes;
  const auto check = [&](const char* key, uint64_t held, uint64_t more,
                         uint64_t most) {
    return most >= held && more <= most - held
               ? absl::OkStatus()
               : TenantCeiling(caller.tenant, key, held, most,
                               absl::InfiniteDuration());
  };
  const policy::TenantCeilings& most = tenant->ceilings;
  absl::Status count =
      check("sessions", has.count, wanted.count, most.sessions);
  if (!count.ok()) return count;
  return check("session_memory", has.memory_bytes, wanted.memory_bytes,
               most.session_memory_bytes);
}

absl::Status SessionTable::Room(const Identity& caller, const Wanted& wanted,
                                const Wanted& gone) const {
  const size_t count = wanted.count;
  Shares shares = shares_;
  shares.Release(caller.name, gone.count);
  if (!accepting_) return ShuttingDown();
  if (audit_ != nullptr) {
    if (absl::Status ready = audit_->Ready(); !ready.ok()) return ready;
  }
  if (absl::Status room = TenantRoom(caller, wanted, gone); !room.ok()) {
    return room;
  }
  if (absl::Status room = MemoryRoom(caller, wanted, gone); !room.ok()) {
    return room;
  }
  const uint64_t has = shares.held_by(caller.name);
  // Otherwise the bound is the one for all callers.
  if (options_.max_per_caller < options_.max_sessions &&
      has + count > options_.max_per_caller) {
    return TooManySessions("one caller has", options_.max_per_caller);
  }
  switch (shares.RoomFor(caller.name, count)) {
    case Shares::Room::kYes:
      return absl::OkStatus();
    case Shares::Room::kCallerHasItsShare:
      return SessionShareFull(caller.name, has, shares.held(),
                              options_.max_sessions);
    case Shares::Room::kNone:
      break;
  }
  return TooManySessions("the server has", options_.max());
}

absl::Status SessionTable::MemoryRoom(const Identity& caller,
                                      const Wanted& wanted,
                                      const Wanted& gone) const {
  if (lacks_memory_) return MachineLacksMemory();
  Shares memory = memory_;
  memory.Release(caller.name, gone.memory_bytes);
  if (memory.RoomFor(caller.name, wanted.memory_bytes) == Shares::Room::kYes) {
    return absl::OkStatus();
  }
  return SessionMemoryFull(caller.name, wanted.memory_bytes,
                           memory.held_by(caller.name), memory.held(),
                           options_.memory_bytes);
}

}  // namespace sandglass::server
