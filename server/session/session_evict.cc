// Sessions that give way: when their caller has as many as it may, and when the
// machine lacks memory.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "server/base/log.h"
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

constexpr char kLackedMemory[] = "the machine lacked memory";

// One that may give up its jail.
struct Candidate {
  SharedSession session;
  absl::Duration idle;
  uint64_t bytes;  // that it holds
};

// Which of them is next, see SetSpareMemory.
std::vector<Candidate>::iterator NextOf(
    std::vector<Candidate>& candidates,
    const std::map<std::string, uint64_t>& held_by_tenants) {
  return std::ranges::max_element(candidates, {}, [&](const Candidate& each) {
    const Session& session = *each.session;
    return std::tuple(!session.durable(),
                      held_by_tenants.at(session.caller().tenant), each.idle);
  });
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

void SessionTable::SetSpareMemory(int64_t bytes) {
  const absl::MutexLock lock(&mutex_);
  lacks_memory_ = bytes < 0 && lacked_memory_;
  lacked_memory_ = bytes < 0;
  to_give_up_ = lacks_memory_ ? uint64_t{0} - static_cast<uint64_t>(bytes) : 0;
}

bool SessionTable::GiveUp(const SharedSession& session) {
  if (session->durable()) return session->GiveUpJail(kLackedMemory);
  const Session::Over over = {
      "SESSION_EVICTED",
      absl::StrCat("it was evictable and not in use, and ", kLackedMemory)};
  if (!session->CloseIfIdle(over)) return false;
  End(session, over);
  return true;
}

void SessionTable::EaseMemory() {
  uint64_t missing = 0;
  {
    const absl::MutexLock lock(&mutex_);
    missing = std::exchange(to_give_up_, 0);
  }
  if (missing == 0) return;
  std::vector<Candidate> candidates;
  std::map<std::string, uint64_t> held;
  for (SharedSession& session : All()) {
    const uint64_t bytes = session->host().MemoryBytes();
    held[session->caller().tenant] += bytes;
    const std::optional<absl::Duration> idle = session->IdleTime();
    if (bytes == 0 || !idle) continue;
    if (!session->durable() && !session->spec().evictable) continue;
    candidates.push_back({std::move(session), *idle, bytes});
  }
  while (missing > 0 && !candidates.empty()) {
    const auto next = NextOf(candidates, held);
    const Candidate chosen = std::move(*next);
    candidates.erase(next);
    if (!GiveUp(chosen.session)) continue;
    Log(LogLevel::kWarning, "session_gave_up_memory",
        {{"session_id", chosen.session->id()},
         {"caller", chosen.session->caller().name},
         {"bytes", chosen.bytes},
         {"missing_bytes", missing}});
    held[chosen.session->caller().tenant] -= chosen.bytes;
    missing -= std::min(missing, chosen.bytes);
  }
}

void SessionTable::EndEvicted(const std::vector<SharedSession>& evicted) {
  for (const SharedSession& session : evicted) {
    FinishEnd(session, Evicted(), "");
  }
}

}  // namespace sandglass::server
