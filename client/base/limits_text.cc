#include "client/base/limits_text.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/base/units.h"

namespace sandglass::client {

std::string LimitsText(const v1::Limits& limits) {
  std::vector<std::string> parts;
  const auto add_size = [&](bool set, absl::string_view name, uint64_t bytes) {
    if (set) parts.push_back(absl::StrCat(name, " ", FormatByteSize(bytes)));
  };
  const auto add_count = [&](bool set, absl::string_view name, uint64_t count) {
    if (set) parts.push_back(absl::StrCat(name, " ", count));
  };
  if (limits.has_wall_time()) {
    parts.push_back(
        absl::StrCat("wall ", FormatTimeSpan(FromProto(limits.wall_time()))));
  }
  if (limits.has_cpu_time()) {
    parts.push_back(
        absl::StrCat("cpu ", FormatTimeSpan(FromProto(limits.cpu_time()))));
  }
  if (limits.has_cpu_millis()) {
    parts.push_back(absl::StrCat(limits.cpu_millis() / 1000.0, " processors"));
  }
  add_size(limits.has_memory_bytes(), "memory", limits.memory_bytes());
  add_count(limits.has_max_processes(), "processes", limits.max_processes());
  add_size(limits.has_tmp_bytes(), "/tmp", limits.tmp_bytes());
  add_size(limits.has_workspace_bytes(), "/workspace",
           limits.workspace_bytes());
  add_count(limits.has_max_files(), "files", limits.max_files());
  add_size(limits.has_output_bytes(), "output", limits.output_bytes());
  add_size(limits.has_output_total_bytes(), "stopped at output",
           limits.output_total_bytes());
  add_count(limits.has_open_files(), "open files", limits.open_files());
  add_size(limits.has_file_size_bytes(), "file size", limits.file_size_bytes());
  return absl::StrJoin(parts, ", ");
}

}  // namespace sandglass::client
