#ifndef SANDGLASS_POLICY_LIMITS_LIMITS_H_
#define SANDGLASS_POLICY_LIMITS_LIMITS_H_

#include <cstdint>
#include <string_view>

#include "absl/time/time.h"

namespace sandglass::policy {

// Upper limits of one run; every field is set. The public message of the same
// name (proto/sandglass/v1/limits.proto) describes each field.
struct Limits {
  absl::Duration wall_time = absl::Seconds(30);
  absl::Duration cpu_time = absl::Seconds(30);
  uint64_t memory_bytes = uint64_t{256} << 20;
  uint32_t max_processes = 64;
  uint32_t cpu_millis = 1000;
  uint64_t tmp_bytes = uint64_t{64} << 20;
  uint64_t workspace_bytes = uint64_t{64} << 20;
  uint32_t max_files = 16384;
  uint64_t output_bytes = uint64_t{1} << 20;
  uint64_t output_total_bytes = uint64_t{16} << 20;
  uint32_t open_files = 1024;
  uint64_t file_size_bytes = uint64_t{64} << 20;

  friend bool operator==(const Limits&, const Limits&) = default;
};

// Names one limit; values equal those of sandglass.v1.LimitKind.
enum class LimitKind {
  kWallTime = 1,
  kCpuTime = 2,
  kMemory = 3,
  kProcesses = 4,
  kCpuShare = 5,
  kTmpBytes = 6,
  kWorkspaceBytes = 7,
  kFileCount = 8,
  kOutputBytes = 9,
  kOutputTotalBytes = 10,
  kOpenFiles = 11,
  kFileSize = 12,
};

// The limit's name in the API and in profiles, for example "memory_bytes".
std::string_view LimitName(LimitKind kind);

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_LIMITS_LIMITS_H_
