#include "client/operator/usage_audit.h"

#include <algorithm>

#include "client/base/units.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {
namespace {

using Json = nlohmann::json;

// The longest time that a message can represent, 10,000 years.
constexpr double kMaxSeconds = 315'576'000'000.0;

std::string Text(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return "";
  return found->get<std::string>();
}

const Json& ObjectIn(const Json& object, const char* key) {
  static const Json* const kNone = new Json(Json::object());
  const auto found = object.find(key);
  return found != object.end() && found->is_object() ? *found : *kNone;
}

uint64_t Number(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) return 0;
  return found->get<uint64_t>();
}

// Whether something was started: a run or command, or its compiler. The other
// entries were held back, or refused with an error.
bool HasStarted(const Json& entry) {
  const std::string outcome = Text(entry, "outcome");
  return !outcome.empty() && outcome != "NEEDS_APPROVAL" && outcome != "DENIED";
}

google::protobuf::Duration DurationOf(double seconds) {
  return ToProto(absl::Seconds(std::min(seconds, kMaxSeconds)));
}

google::protobuf::Timestamp TimestampOf(absl::Time time) {
  google::protobuf::Timestamp timestamp;
  const int64_t seconds = absl::ToUnixSeconds(time);  // rounded down
  timestamp.set_seconds(seconds);
  timestamp.set_nanos(static_cast<int32_t>(
      absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
  return timestamp;
}

}  // namespace

void UsageOfLines::Add(absl::string_view line, const policy::AuditLine& parts) {
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, parts.time, &time, &error)) return;
  if (!first_) first_ = time;
  last_ = time;
  if ((options_.since && time < *options_.since) ||
      (options_.until && time >= *options_.until) ||
      (parts.event != "run" && parts.event != "exec")) {
    return;
  }
  const Json entry = Json::parse(line.begin(), line.end(), nullptr,
                                 /*allow_exceptions=*/false);
  if (!entry.is_object()) {
    ++unreadable_;
    return;
  }
  const std::string caller = Text(entry, "caller");
  if (!options_.caller.empty() && caller != options_.caller) return;
  Sum& sum = sums_[{caller, Text(entry, "lang")}];
  v1::UsageTotal& total = sum.total;
  if (!HasStarted(entry)) {
    total.set_refused(total.refused() + 1);
    return;
  }
  if (parts.event == "run") {
    total.set_runs(total.runs() + 1);
  } else {
    total.set_commands(total.commands() + 1);
  }
  for (const char* phase : {"compile_usage", "usage"}) {
    const Json& usage = ObjectIn(entry, phase);
    const double wall = static_cast<double>(Number(usage, "wall_us")) / 1e6;
    sum.wall_seconds += wall;
    sum.cpu_seconds += static_cast<double>(Number(usage, "cpu_us")) / 1e6;
    total.set_memory_byte_seconds(
        total.memory_byte_seconds() +
        wall * static_cast<double>(Number(usage, "peak_memory_bytes")));
  }
  const Json& network = ObjectIn(entry, "network");
  total.set_network_bytes(total.network_bytes() +
                          Number(network, "sent_bytes") +
                          Number(network, "received_bytes"));
}

v1::GetUsageResponse UsageOfLines::Finish() const {
  v1::GetUsageResponse usage;
  for (const auto& [of, sum] : sums_) {
    v1::UsageTotal& total = *usage.add_totals();
    total = sum.total;
    total.set_caller(of.first);
    total.set_language(of.second);
    *total.mutable_wall_time() = DurationOf(sum.wall_seconds);
    *total.mutable_cpu_time() = DurationOf(sum.cpu_seconds);
  }
  if (first_ && last_) {
    *usage.mutable_since() =
        TimestampOf(std::max(*first_, options_.since.value_or(*first_)));
    *usage.mutable_until() =
        TimestampOf(std::min(*last_, options_.until.value_or(*last_)));
  }
  return usage;
}

}  // namespace sandglass::client
