#include "policy/limits/limits.h"

namespace sandglass::policy {

std::string_view LimitName(LimitKind kind) {
  switch (kind) {
    case LimitKind::kWallTime:
      return "wall_time";
    case LimitKind::kCpuTime:
      return "cpu_time";
    case LimitKind::kMemory:
      return "memory_bytes";
    case LimitKind::kProcesses:
      return "max_processes";
    case LimitKind::kCpuShare:
      return "cpu_millis";
    case LimitKind::kTmpBytes:
      return "tmp_bytes";
    case LimitKind::kWorkspaceBytes:
      return "workspace_bytes";
    case LimitKind::kFileCount:
      return "max_files";
    case LimitKind::kOutputBytes:
      return "output_bytes";
    case LimitKind::kOutputTotalBytes:
      return "output_total_bytes";
    case LimitKind::kOpenFiles:
      return "open_files";
    case LimitKind::kFileSize:
      return "file_size_bytes";
  }
  return "unknown";
}

}  // namespace sandglass::policy
