// What commands hold of what all callers share, and how room for more is made.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/exec/exec_table.h"

namespace sandglass::server {
namespace {

// Bound for the output that is kept of one session.
constexpr uint64_t kSessionBytes = uint64_t{32} << 20;

}  // namespace

ExecTable::Commands::Commands(std::shared_ptr<Owner> of)
    : owner(std::move(of)) {
  // A command may outlive this object, so it also keeps alive what it is
  // counted in.
  struct Kept {
    explicit Kept(const std::shared_ptr<Owner>& of)
        : owner(of), of_session(kSessionBytes, &of->kept) {}
    const std::shared_ptr<Owner> owner;
    KeptBytes of_session;
  };
  const auto both = std::make_shared<Kept>(owner);
  kept = std::shared_ptr<KeptBytes>(both, &both->of_session);
}

void ExecTable::DropOldestEnded(Commands& commands) {
  const auto oldest = commands.by_number.find(commands.ended.front());
  commands.ended.pop_front();
  if (oldest == commands.by_number.end()) return;
  commands.by_id.erase(oldest->second->plan().exec_id);
  commands.by_number.erase(oldest);
}

void ExecTable::MakeRoom(Commands& commands) {
  while (commands.kept->full() && !commands.ended.empty()) {
    DropOldestEnded(commands);
  }
  // To make room for new output, the oldest commands in the same caller's other
  // sessions are dropped, too. Those of other callers stay.
  for (auto& [session_id, others] : sessions_) {
    if (others.owner != commands.owner) continue;
    while (commands.owner->kept.full() && !others.ended.empty()) {
      DropOldestEnded(others);
    }
  }
}

std::shared_ptr<ExecTable::Owner> ExecTable::OwnerOf(const Caller& caller) {
  if (auto known = owners_[caller.name].lock()) return known;
  std::erase_if(owners_, [](const auto& of) { return of.second.expired(); });
  auto owner = std::make_shared<Owner>(kept_, stdin_waiting_);
  owners_[caller.name] = owner;
  return owner;
}

absl::Status ExecTable::CheckStdinRoom(const Caller& owner, size_t bytes) {
  if (bytes == 0 || !OwnerOf(owner)->stdin_waiting.full()) {
    return absl::OkStatus();
  }
  return TooManyExecs(
      absl::StrCat("commands of ", owner.name,
                   " have too much input that they don't read: ",
                   OwnerOf(owner)->stdin_waiting.bytes(), " of ",
                   stdin_waiting_.bytes(), " bytes that the server holds"),
      kRetryExecAfter);
}

}  // namespace sandglass::server
