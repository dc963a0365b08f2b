#include "server/run/run_registry.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "server/base/digest.h"
#include "server/base/errors.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

constexpr int32_t kDefaultPageSize = 100;
constexpr int32_t kMaxPageSize = 1000;
constexpr uint64_t kEntryBytes = 512;  // maps, keys and the entry itself

bool Matches(const v1::RunSummary& summary,
             const v1::ListRunsRequest& request) {
  if (!request.states().empty() &&
      std::ranges::count(request.states(), summary.state()) == 0) {
    return false;
  }
  return std::ranges::all_of(request.labels(), [&](const auto& wanted) {
    const auto it = summary.labels().find(wanted.first);
    return it != summary.labels().end() && it->second == wanted.second;
  });
}

bool WorthRepeating(const Run& run, const RunEnd& end) {
  if (run.origin().request_id.empty() || !end.status.ok()) return false;
  const v1::Outcome outcome = end.response->outcome();
  if (outcome == v1::OUTCOME_CANCELLED && run.abandoned()) return false;
  // With OUTCOME_NEEDS_APPROVAL the client sends the same request_id again once
  // the run is approved.
  return outcome != v1::OUTCOME_JAIL_FAILED &&
         outcome != v1::OUTCOME_SHUTDOWN &&
         outcome != v1::OUTCOME_NEEDS_APPROVAL;
}

}  // namespace

RunRegistry::Claimed RunRegistry::Claim(const std::shared_ptr<Run>& run,
                                        RunListener* listener) {
  const RunOrigin& origin = run->origin();
  const Key key(origin.caller.name, origin.request_id);
  absl::MutexLock lock(&mutex_);
  Evict();
  // No run without a request_id is in there.
  if (const auto known = by_request_id_.find(key);
      known != by_request_id_.end()) {
    const Entry& entry = entries_.at(known->second);
    const std::string& fingerprint = entry.live != nullptr
                                         ? entry.live->origin().fingerprint
                                         : entry.fingerprint;
    if (fingerprint != origin.fingerprint) {
      return {.how = Claimed::How::kEnded,
              .end = {.status = RequestIdReused(origin.request_id)}};
    }
    if (entry.answer != nullptr) {
      return {.how = Claimed::How::kEnded,
              .end = {.response = entry.answer, .joined = true, .kept = true}};
    }
    if (entry.live != nullptr &&
        entry.live->Attach(listener, Run::Arrival::kJoined)) {
      return {Claimed::How::kJoined, entry.live, {}};
    }
    // The run was abandoned and is about to end, so this request runs afresh.
  }
  const uint64_t number = next_number_++;
  run->Attach(listener, Run::Arrival::kFirst);
  entries_[number].live = run;
  by_id_[run->id()] = number;
  if (!origin.request_id.empty()) by_request_id_[key] = number;
  return {Claimed::How::kNew, run, {}};
}

std::optional<RunEnd> RunRegistry::Finish(const Run& run, const RunEnd& end) {
  absl::MutexLock lock(&mutex_);
  const auto by_id = by_id_.find(run.id());
  if (by_id == by_id_.end()) return std::nullopt;
  const uint64_t number = by_id->second;
  Entry& entry = entries_.at(number);
  if (entry.live == nullptr) return std::nullopt;
  entry.summary = run.Summary();
  entry.summary.set_state(v1::RUN_STATE_FINISHED);
  if (end.response != nullptr) {
    entry.summary.set_outcome(end.response->outcome());
  }
  entry.fingerprint = run.origin().fingerprint;
  entry.finished = Now();
  entry.bytes = kEntryBytes + entry.summary.ByteSizeLong();
  const Key key(run.origin().caller.name, run.origin().request_id);
  // Another run may have taken over the request_id since this one was
  // abandoned.
  if (const auto known = by_request_id_.find(key);
      known != by_request_id_.end() && known->second == number) {
    if (WorthRepeating(run, end)) {
      entry.answer = end.response;
      entry.bytes += end.response->ByteSizeLong();
    } else {
      by_request_id_.erase(known);
    }
  }
  finished_bytes_ += entry.bytes;
  ++finished_count_;
  Finished& of_caller = finished_[run.origin().caller.name];
  of_caller.bytes += entry.bytes;
  of_caller.numbers.push_back(number);
  entry.live.reset();
  Evict();
  // The answer may have been too large to be kept.
  const auto kept = by_request_id_.find(key);
  RunEnd told = end;
  told.kept = kept != by_request_id_.end() && kept->second == number;
  return told;
}

void RunRegistry::EvictOldestOf(FinishedByCaller::iterator caller) {
  const auto it = entries_.find(caller->second.numbers.front());
  const Entry& entry = it->second;
  finished_bytes_ -= entry.bytes;
  caller->second.bytes -= entry.bytes;
  --finished_count_;
  by_id_.erase(entry.summary.run_id());
  const Key key(entry.summary.caller(), entry.summary.request_id());
  if (const auto known = by_request_id_.find(key);
      known != by_request_id_.end() && known->second == it->first) {
    by_request_id_.erase(known);
  }
  entries_.erase(it);
  caller->second.numbers.pop_front();
  if (caller->second.numbers.empty()) finished_.erase(caller);
}

void RunRegistry::Evict() {
  for (auto it = finished_.begin(); it != finished_.end();) {
    const auto caller = it++;
    // When the last run goes, the caller's entry goes with it.
    for (size_t left = caller->second.numbers.size();
         left > 0 &&
         Since(entries_.at(caller->second.numbers.front()).finished) >
             options_.time;
         --left) {
      EvictOldestOf(caller);
    }
  }
  while (finished_count_ > options_.max_runs) {
    EvictOldestOf(std::ranges::max_element(finished_, {}, [](const auto& of) {
      return of.second.numbers.size();
    }));
  }
  while (finished_bytes_ > options_.max_bytes) {
    EvictOldestOf(std::ranges::max_element(
        finished_, {}, [](const auto& of) { return of.second.bytes; }));
  }
}

bool RunRegistry::MaySee(const Identity& caller, const Entry& entry) {
  return caller.Sees(entry.live != nullptr ? entry.live->origin().caller.name
                                           : entry.summary.caller());
}

v1::RunSummary RunRegistry::SummaryOf(const Entry& entry) {
  return entry.live != nullptr ? entry.live->Summary() : entry.summary;
}

absl::StatusOr<v1::ListRunsResponse> RunRegistry::List(
    const Identity& caller, const v1::ListRunsRequest& request) {
  std::vector<policy::FieldViolation> violations;
  if (request.page_size() < 0 || request.page_size() > kMaxPageSize) {
    violations.push_back(
        {"page_size", absl::StrCat(request.page_size(), " is not within 0 to ",
                                   kMaxPageSize)});
  }
  // A token is the number of the last run on the page before.
  uint64_t after = 0;
  const bool goes_on = absl::SimpleAtoi(request.page_token(), &after);
  if (!goes_on && !request.page_token().empty()) {
    violations.push_back(
        {"page_token",
         absl::StrCat(Quoted(request.page_token()),
                      " is not a token that an earlier answer gave")});
  }
  if (!violations.empty()) return InvalidRequest(violations);

  const int page_size =
      request.page_size() == 0 ? kDefaultPageSize : request.page_size();
  v1::ListRunsResponse response;
  absl::MutexLock lock(&mutex_);
  Evict();
  auto it = goes_on ? entries_.upper_bound(after) : entries_.begin();
  uint64_t last = 0;
  for (; it != entries_.end(); ++it) {
    if (!MaySee(caller, it->second)) continue;
    v1::RunSummary summary = SummaryOf(it->second);
    if (!Matches(summary, request)) continue;
    if (response.runs_size() == page_size) {
      response.set_next_page_token(absl::StrCat(last));
      break;
    }
    *response.add_runs() = std::move(summary);
    last = it->first;
  }
  return response;
}

const RunRegistry::Entry* RunRegistry::FindEntry(
    const Identity& caller, const std::string& run_id) const {
  const auto it = by_id_.find(run_id);
  if (it == by_id_.end()) return nullptr;
  const Entry& entry = entries_.at(it->second);
  return MaySee(caller, entry) ? &entry : nullptr;
}

absl::StatusOr<std::shared_ptr<Run>> RunRegistry::Find(
    const Identity& caller, const std::string& run_id) const {
  absl::MutexLock lock(&mutex_);
  const Entry* entry = FindEntry(caller, run_id);
  if (entry == nullptr) return RunNotFound(run_id);
  return entry->live;
}

absl::StatusOr<v1::RunSummary> RunRegistry::Describe(
    const Identity& caller, const std::string& run_id) const {
  absl::MutexLock lock(&mutex_);
  const Entry* entry = FindEntry(caller, run_id);
  if (entry == nullptr) return RunNotFound(run_id);
  return SummaryOf(*entry);
}

std::vector<std::shared_ptr<Run>> RunRegistry::Live() const {
  std::vector<std::shared_ptr<Run>> live;
  absl::MutexLock lock(&mutex_);
  for (const auto& [number, entry] : entries_) {
    if (entry.live != nullptr) live.push_back(entry.live);
  }
  return live;
}

size_t RunRegistry::live_count() const {
  absl::MutexLock lock(&mutex_);
  return entries_.size() - finished_count_;
}

std::string InOneOrder(const v1::RunCodeRequest& request) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  {
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    request.SerializeToCodedStream(&coded);
  }
  return bytes;
}

std::string Fingerprint(const v1::RunCodeRequest& request) {
  return Sha256(InOneOrder(request));
}

}  // namespace sandglass::server
