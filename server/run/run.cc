#include "server/run/run.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/proto_time.h"
#include "server/session/session.h"

namespace sandglass::server {

bool Run::Attach(RunListener* listener, Arrival arrival) {
  absl::MutexLock lock(&mutex_);
  if (abandoned_ || ended_) return false;
  listeners_.push_back({listener, arrival});
  return true;
}

bool Run::Detach(RunListener* listener) {
  {
    absl::MutexLock lock(&mutex_);
    const auto it =
        std::ranges::find(listeners_, listener, &Attached::listener);
    if (it == listeners_.end()) return false;
    listeners_.erase(it);
    if (!listeners_.empty()) return true;
    abandoned_ = true;
  }
  cancel_.Cancel(policy::KillReason::kCancelled);
  return true;
}

bool Run::abandoned() const {
  absl::MutexLock lock(&mutex_);
  return abandoned_;
}

void Run::MarkRunning() {
  absl::MutexLock lock(&mutex_);
  running_ = true;
}

// Listeners are called with the lock held: Detach must not return while one of
// them is being called. Listeners only queue, so this is short.
template <typename Call>
void Run::TellFirst(const Call& call) {
  absl::MutexLock lock(&mutex_);
  for (const Attached& a : listeners_) {
    if (a.arrival == Arrival::kFirst) call(*a.listener);
  }
}

void Run::OnCompiled(const JobResult& compile) {
  TellFirst([&](RunListener& told) { told.OnCompiled(compile); });
}

void Run::OnLibraryProgress(std::string_view line) {
  TellFirst([&](RunListener& told) { told.OnLibraryProgress(line); });
}

void Run::OnStarted(const Job& job) {
  TellFirst([&](RunListener& told) { told.OnStarted(job); });
  if (const auto then = std::exchange(once_started_, nullptr)) then();
}

void Run::OnOutput(Stream stream, std::string_view data, uint64_t offset,
                   absl::Duration since_start) {
  TellFirst([&](RunListener& told) {
    told.OnOutput(stream, data, offset, since_start);
  });
}

void Run::OnRich(const RichOutput& output, absl::Duration since_start) {
  TellFirst([&](RunListener& told) { told.OnRich(output, since_start); });
}

void Run::OnEnd(const RunEnd& end) {
  std::vector<Attached> listeners;
  {
    absl::MutexLock lock(&mutex_);
    if (ended_) return;
    ended_ = true;
    listeners = std::exchange(listeners_, {});
  }
  for (const Attached& a : listeners) {
    RunEnd theirs = end;
    theirs.joined = a.arrival == Arrival::kJoined;
    a.listener->OnEnd(theirs);
  }
}

v1::RunSummary Run::Summary() const {
  v1::RunSummary summary;
  summary.set_run_id(origin_.run_id);
  summary.set_language(origin_.language);
  summary.set_profile(origin_.profile);
  *summary.mutable_create_time() = ToProto(origin_.create_time);
  *summary.mutable_elapsed() = ToProto(Since(origin_.accepted));
  summary.mutable_labels()->insert(origin_.labels.begin(),
                                   origin_.labels.end());
  summary.set_request_id(origin_.request_id);
  summary.set_caller(origin_.caller.name);
  summary.set_trace_id(origin_.caller.trace_id);
  if (origin_.session != nullptr) {
    summary.set_session_id(origin_.session->id());
  }
  absl::MutexLock lock(&mutex_);
  summary.set_state(running_ ? v1::RUN_STATE_RUNNING : v1::RUN_STATE_QUEUED);
  return summary;
}

std::string Run::kind() const {
  // In a session nothing has to be started.
  return absl::StrCat(origin_.language, " ", origin_.profile,
                      origin_.session != nullptr ? " in a session" : "");
}

uint64_t Run::highest_cpu_millis() const {
  return std::max(job_.limits.cpu_millis,
                  job_.compile ? job_.compile->limits.cpu_millis : 0);
}

uint64_t Run::highest_memory_bytes() const {
  return std::max(job_.limits.memory_bytes,
                  job_.compile ? job_.compile->limits.memory_bytes : 0);
}

void Run::ReleaseInputs() {
  job_.code = std::string();
  job_.files = std::vector<Job::File>();
  job_.layer.pin.reset();
}

}  // namespace sandglass::server
