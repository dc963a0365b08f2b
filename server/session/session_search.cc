// Which of the sessions are meant.
#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/base/errors.h"
#include "server/session/session_table.h"

namespace sandglass::server {
namespace {

constexpr int32_t kDefaultPageSize = 100;
constexpr int32_t kMaxPageSize = 1000;

}  // namespace

SharedSession SessionTable::Latest(const Identity& caller,
                                   const StringMap& labels) const {
  for (const auto& [number, session] : sessions_) {
    if (session->caller().name == caller.name && session->usable() &&
        session->HasLabels(labels) && session->LooksOver().reason.empty()) {
      return session;
    }
  }
  return nullptr;
}

absl::StatusOr<v1::ListSessionsResponse> SessionTable::List(
    const Identity& caller, const v1::ListSessionsRequest& request) const {
  Violations violations;
  if (request.page_size() < 0 || request.page_size() > kMaxPageSize) {
    violations.push_back(
        {"page_size", absl::StrCat(request.page_size(), " is not within 0 to ",
                                   kMaxPageSize)});
  }
  // A token is the number of the last session on the page before.
  uint64_t after = 0;
  if (!request.page_token().empty() &&
      !absl::SimpleAtoi(request.page_token(), &after)) {
    violations.push_back({"page_token", "is not one that ListSessions gave"});
  }
  if (!violations.empty()) return InvalidRequest(violations);
  const size_t max = static_cast<size_t>(
      request.page_size() == 0 ? kDefaultPageSize : request.page_size());
  std::vector<std::pair<uint64_t, SharedSession>> candidates;
  {
    absl::MutexLock lock(&mutex_);
    for (auto it = after == 0 ? sessions_.begin()
                              : sessions_.upper_bound(after);
         it != sessions_.end(); ++it) {
      if (caller.Sees(it->second->caller().name)) candidates.emplace_back(*it);
    }
  }
  v1::ListSessionsResponse response;
  uint64_t last = 0;
  for (const auto& [number, session] : candidates) {
    if (!session->HasLabels(request.labels())) continue;
    v1::Session described = session->Describe();
    const auto& states = request.states();
    if (!states.empty() &&
        std::ranges::find(states, described.state()) == states.end()) {
      continue;
    }
    if (static_cast<size_t>(response.sessions_size()) == max) {
      response.set_next_page_token(absl::StrCat(last));
      break;
    }
    last = number;
    *response.add_sessions() = std::move(described);
  }
  return response;
}

}  // namespace sandglass::server
