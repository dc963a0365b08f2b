#include "server/ops/usage_counter.h"

#include "server/base/errors.h"
#include "server/base/proto_time.h"

namespace sandglass::server {

void UsageCounter::Use::Add(const v1::Usage& usage) {
  const absl::Duration took = FromProto(usage.wall_time());
  wall += took;
  cpu += FromProto(usage.cpu_user_time()) + FromProto(usage.cpu_system_time());
  memory_byte_seconds += static_cast<double>(usage.peak_memory_bytes()) *
                         absl::ToDoubleSeconds(took);
}

void UsageCounter::Use::Add(const v1::NetworkUse& network) {
  network_bytes += network.sent_bytes() + network.received_bytes();
}

UsageCounter::Use& UsageCounter::UseOf(const Identity& caller,
                                       const std::string& language) {
  const bool known = used_.find(caller.name) != used_.end();
  return used_[known || used_.size() < kMaxCallers ? caller.name : kOthers]
              [language];
}

void UsageCounter::RecordRun(const Identity& caller,
                             const v1::RunCodeResponse& response) {
  absl::MutexLock lock(&mutex_);
  ++runs_[{response.language(), response.outcome()}];
  Use& use = UseOf(caller, response.language());
  const bool let_run = response.outcome() != v1::OUTCOME_DENIED &&
                       response.outcome() != v1::OUTCOME_NEEDS_APPROVAL;
  ++(let_run ? use.runs : use.refused);
  use.Add(response.usage());
  if (response.has_compile()) use.Add(response.compile().usage());
  if (response.has_network()) use.Add(response.network());
}

void UsageCounter::RecordError(const Identity& caller,
                               const std::string& language,
                               const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  ++errors_[{ErrorReason(status), absl::StatusCodeToString(status.code())}];
  ++UseOf(caller, language).refused;
}

void UsageCounter::RecordCommand(const Identity& owner,
                                 const std::string& language,
                                 const v1::ExecEnd& end) {
  absl::MutexLock lock(&mutex_);
  Use& use = UseOf(owner, language);
  ++use.commands;
  use.Add(end.usage());
  if (end.has_network()) use.Add(end.network());
}

google::protobuf::RepeatedPtrField<v1::RunCount> UsageCounter::Runs() const {
  absl::MutexLock lock(&mutex_);
  google::protobuf::RepeatedPtrField<v1::RunCount> counts;
  for (const auto& [key, runs] : runs_) {
    v1::RunCount& count = *counts.Add();
    count.set_language(key.first);
    count.set_outcome(key.second);
    count.set_runs(runs);
  }
  return counts;
}

google::protobuf::RepeatedPtrField<v1::ErrorCount> UsageCounter::Errors()
    const {
  absl::MutexLock lock(&mutex_);
  google::protobuf::RepeatedPtrField<v1::ErrorCount> counts;
  for (const auto& [key, calls] : errors_) {
    v1::ErrorCount& count = *counts.Add();
    count.set_reason(key.first);
    count.set_code(key.second);
    count.set_calls(calls);
  }
  return counts;
}

v1::GetUsageResponse UsageCounter::Usage(
    const std::optional<std::string>& caller, absl::Time now) const {
  v1::GetUsageResponse response;
  *response.mutable_since() = ToProto(since_);
  *response.mutable_until() = ToProto(now);
  absl::MutexLock lock(&mutex_);
  for (const auto& [name, by_language] : used_) {
    if (caller.has_value() && *caller != name) continue;
    if (name == kOthers) response.set_others(true);
    for (const auto& [language, use] : by_language) {
      v1::UsageTotal& total = *response.add_totals();
      total.set_caller(name);
      total.set_language(language);
      total.set_runs(use.runs);
      total.set_commands(use.commands);
      *total.mutable_wall_time() = ToProto(use.wall);
      *total.mutable_cpu_time() = ToProto(use.cpu);
      total.set_memory_byte_seconds(use.memory_byte_seconds);
      total.set_network_bytes(use.network_bytes);
      total.set_refused(use.refused);
    }
  }
  return response;
}

}  // namespace sandglass::server
