// Sessions that give way when their caller has as many as it may.
#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "server/session/session_table.h"

namespace sandglass::server {
namespace {

const Session::Over& Evicted() {
  static const auto* const evicted = new Session::Over{
      "SESSION_EVICTED",
      "it was evictable, and of those the one that was longest not in use as "
      "its caller wanted another session"};
  return *evicted;
}

}  // namespace

std::vector<SharedSession> SessionTable::IdleEvictable(
    const Identity& caller) const {
  std::vector<std::pair<absl::Duration, SharedSession>> idle;
  for (const auto& [number, session] : sessions_) {
    if (session->caller().name != caller.name || !session->spec().evictable) {
      continue;
    }
    if (const std::optional<absl::Duration> time = session->IdleTime()) {
      idle.emplace_back(*time, session);
    }
  }
  std::ranges::stable_sort(idle, std::greater<>(),
                           [](const auto& of) { return of.first; });
  std::vector<SharedSession> sessions;
  sessions.reserve(idle.size());
  for (auto& [time, session] : idle) sessions.push_back(std::move(session));
  return sessions;
}

absl::Status SessionTable::RoomAtBest(const Identity& caller,
                                      const Wanted& wanted) const {
  absl::Status room = Room(caller, wanted, Wanted());
  if (!absl::IsResourceExhausted(room)) return room;
  Wanted gone;
  for (const SharedSession& idle : IdleEvictable(caller)) {
    gone.Add(idle->spec());
  }
  return Room(caller, wanted, gone).ok() ? absl::OkStatus() : room;
}

absl::Status SessionTable::MakeRoom(const Identity& caller,
                                    const Wanted& wanted,
                                    std::vector<SharedSession>& evicted) {
  // Where it would not be enough, none has to give way.
  if (absl::Status at_best = RoomAtBest(caller, wanted); !at_best.ok()) {
    return at_best;
  }
  absl::Status room = Room(caller, wanted, Wanted());
  for (const SharedSession& idle : IdleEvictable(caller)) {
    if (!absl::IsResourceExhausted(room)) break;
    // It may have come into use meanwhile.
    if (!idle->CloseIfIdle(Evicted())) continue;
    if (Forget(*idle, Evicted())) evicted.push_back(idle);
    room = Room(caller, wanted, Wanted());
  }
  return room;
}

void SessionTable::EndEvicted(const std::vector<SharedSession>& evicted) {
  for (const SharedSession& session : evicted) {
    FinishEnd(session, Evicted(), "");
  }
}

}  // namespace sandglass::server
