#include "server/admission/admission_config.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "absl/time/time.h"
#include "server/base/memory_budget.h"

namespace sandglass::server {
namespace {

// memory_reserve is memory_budget divided by this, on top of memory_budget.
constexpr uint64_t kReservePart = 8;

// How much more there is beyond each bound, for callers that have few: see
// Shares.
uint32_t RunReserve(const AdmissionOptions& options) {
  return std::max(2u, options.max_running / 2);
}
uint32_t QueueReserve(const AdmissionOptions& options) {
  return std::max(1u, options.max_queued / 4);
}
uint32_t QueueOfCaller(const AdmissionOptions& options) {
  return std::max(1u, options.max_queued / 2);
}

}  // namespace

AdmissionOptions DefaultAdmission() {
  AdmissionOptions options;
  options.max_running =
      std::clamp(2 * std::thread::hardware_concurrency(), 4u, 512u);
  options.reserve = RunReserve(options);
  options.queued_reserve = QueueReserve(options);
  options.max_queued_per_caller = QueueOfCaller(options);
  // Budget and reserve together are what runs may take.
  const uint64_t memory = DefaultMemoryBudget();
  options.memory_reserve_bytes = memory / (kReservePart + 1);
  options.memory_budget_bytes = memory - options.memory_reserve_bytes;
  return options;
}

void ReadAdmission(policy::JsonObject& root, AdmissionOptions& options) {
  std::optional<policy::JsonObject> object = root.OptionalObject("admission");
  if (!object.has_value()) return;
  const auto count = [&](const char* key, policy::UnsignedRange range,
                         uint32_t fallback) {
    return static_cast<uint32_t>(object->Unsigned(key, range, fallback));
  };
  options.max_running =
      count("max_running", {.min = 1, .max = 2000}, options.max_running);
  options.reserve = count("reserve", {.max = 1000}, RunReserve(options));
  options.max_queued =
      count("max_queued", {.min = 1, .max = 100'000}, options.max_queued);
  options.queued_reserve = QueueReserve(options);
  options.max_queued_per_caller =
      count("max_queued_per_caller", {.min = 1, .max = 100'000},
            QueueOfCaller(options));
  options.queue_timeout = object->Duration(
      "queue_timeout", {.min = absl::Milliseconds(1), .max = absl::Hours(1)},
      options.queue_timeout);
  options.memory_budget_bytes =
      object->ByteSize("memory_budget", {.min = uint64_t{32} << 20},
                       options.memory_budget_bytes);
  options.memory_reserve_bytes =
      object->ByteSize("memory_reserve", {.max = uint64_t{1} << 50},
                       options.memory_budget_bytes / kReservePart);
}

nlohmann::ordered_json AdmissionToJson(const AdmissionOptions& options) {
  return {{"max_running", options.max_running},
          {"reserve", options.reserve},
          {"max_queued", options.max_queued},
          {"max_queued_per_caller", options.max_queued_per_caller},
          {"queue_timeout", absl::FormatDuration(options.queue_timeout)},
          {"memory_budget", options.memory_budget_bytes},
          {"memory_reserve", options.memory_reserve_bytes}};
}

}  // namespace sandglass::server
