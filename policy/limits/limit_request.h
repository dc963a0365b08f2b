#ifndef SANDGLASS_POLICY_LIMITS_LIMIT_REQUEST_H_
#define SANDGLASS_POLICY_LIMITS_LIMIT_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"

namespace sandglass::policy {

// The limits that a request may name; absent means the profile's default.
struct LimitRequest {
  std::optional<absl::Duration> wall_time;
  std::optional<absl::Duration> cpu_time;
  std::optional<uint64_t> memory_bytes;
  std::optional<uint32_t> max_processes;
  std::optional<uint32_t> cpu_millis;
  std::optional<uint64_t> tmp_bytes;
  std::optional<uint64_t> workspace_bytes;
  std::optional<uint32_t> max_files;
  std::optional<uint64_t> output_bytes;
  std::optional<uint64_t> output_total_bytes;
  std::optional<uint32_t> open_files;
  std::optional<uint64_t> file_size_bytes;
};

// Something that is wrong with a request, with the field's path in the API.
struct FieldViolation {
  std::string field;  // for example "limits.memory_bytes"
  std::string description;
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIMITS_LIMIT_REQUEST_H_
