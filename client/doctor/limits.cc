#include "client/doctor/limits.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/base/units.h"

namespace sandglass::client {
namespace {

constexpr uint64_t kMebibyte = 1 << 20;
constexpr uint64_t kMaxMemory = 512 * kMebibyte;
constexpr uint64_t kLittleMemory = 256 * kMebibyte;
constexpr uint32_t kMaxProcesses = 1024;
constexpr uint32_t kFewProcesses = 64;
constexpr uint64_t kLittleTmp = kMebibyte;
constexpr uint64_t kMaxTmp = 256 * kMebibyte;
constexpr uint64_t kFileSize = 64 << 10;
constexpr uint64_t kOutputTotal = 256 << 10;
constexpr absl::Duration kProcessorTime = absl::Milliseconds(300);
constexpr absl::Duration kWallTime = absl::Milliseconds(500);

// An interpreter that was started ahead is in a jail that was built for the
// default limits; for other limits a new jail would be made in another way.
bool IsPrestarted(const Way& way) { return absl::EndsWith(way.kind, "-run"); }

using Arguments = std::vector<std::string>;

Arguments AskForMemory(const v1::Limits& limits) {
  return {"memory", absl::StrCat(limits.memory_bytes() / kMebibyte + 64)};
}
void LimitMemory(const Way& way, v1::RunCodeRequest& request,
                 v1::Limits& in_force) {
  if (IsPrestarted(way) || in_force.memory_bytes() <= kMaxMemory) return;
  // /tmp and /workspace are in memory.
  for (v1::Limits* limits : {&in_force, request.mutable_limits()}) {
    limits->set_memory_bytes(kLittleMemory);
    limits->set_tmp_bytes(
        std::min(in_force.tmp_bytes(), uint64_t{kLittleMemory / 8}));
    limits->set_workspace_bytes(
        std::min(in_force.workspace_bytes(), uint64_t{kLittleMemory / 8}));
  }
}
Judgement JudgeMemory(const v1::RunCodeResponse& response) {
  return JudgeLimit(
      {"memory-limit", v1::OUTCOME_MEMORY_LIMIT, v1::LIMIT_KIND_MEMORY},
      response);
}

Arguments AskForProcesses(const v1::Limits& limits) {
  return {"processes", absl::StrCat(limits.max_processes() + 8)};
}
void LimitProcesses(const Way& way, v1::RunCodeRequest& request,
                    v1::Limits& in_force) {
  if (IsPrestarted(way) || in_force.max_processes() <= kFewProcesses) return;
  request.mutable_limits()->set_max_processes(kFewProcesses);
  in_force.set_max_processes(kFewProcesses);
}
Judgement JudgeProcesses(const v1::RunCodeResponse& response) {
  return JudgeLimit(
      {"process-limit", v1::OUTCOME_PIDS_LIMIT, v1::LIMIT_KIND_PROCESSES},
      response);
}

Arguments Compute(const v1::Limits&) { return {"cpu"}; }
void LimitProcessor(const Way&, v1::RunCodeRequest& request, v1::Limits&) {
  *request.mutable_limits()->mutable_cpu_time() = ToProto(kProcessorTime);
}
Judgement JudgeProcessor(const v1::RunCodeResponse& response) {
  return JudgeLimit(
      {"cpu-limit", v1::OUTCOME_CPU_LIMIT, v1::LIMIT_KIND_CPU_TIME}, response);
}

Arguments Wait(const v1::Limits&) { return {"wall"}; }
void LimitTime(const Way&, v1::RunCodeRequest& request, v1::Limits&) {
  *request.mutable_limits()->mutable_wall_time() = ToProto(kWallTime);
}
Judgement JudgeTime(const v1::RunCodeResponse& response) {
  return JudgeLimit(
      {"wall-limit", v1::OUTCOME_TIMEOUT, v1::LIMIT_KIND_WALL_TIME}, response);
}

Arguments Print(const v1::Limits&) { return {"output", "2048"}; }
void LimitOutput(const Way&, v1::RunCodeRequest& request, v1::Limits&) {
  request.mutable_limits()->set_output_bytes(kOutputTotal / 4);
  request.mutable_limits()->set_output_total_bytes(kOutputTotal);
}
Judgement JudgeOutput(const v1::RunCodeResponse& response) {
  return JudgeLimit({"output-limit", v1::OUTCOME_OUTPUT_LIMIT,
                     v1::LIMIT_KIND_OUTPUT_TOTAL_BYTES},
                    response);
}

Arguments FillTmp(const v1::Limits& limits) {
  return {"file", "/tmp/full", absl::StrCat(limits.tmp_bytes() / 1024 + 64)};
}
void LimitTmp(const Way& way, v1::RunCodeRequest& request,
              v1::Limits& in_force) {
  if (IsPrestarted(way)) return;
  const uint64_t size = std::min(in_force.tmp_bytes(), kLittleTmp);
  request.mutable_limits()->set_tmp_bytes(size);
  in_force.set_tmp_bytes(size);
}
Judgement JudgeTmp(const v1::RunCodeResponse& response) {
  return JudgeLimit(
      {"disk-limit", v1::OUTCOME_DISK_LIMIT, v1::LIMIT_KIND_TMP_BYTES},
      response);
}

Arguments WriteLong(const v1::Limits&) { return {"file", "long", "256"}; }
void LimitFileSize(const Way&, v1::RunCodeRequest& request, v1::Limits&) {
  request.mutable_limits()->set_file_size_bytes(kFileSize);
  request.add_fetch("long");
}
Judgement JudgeLong(const v1::RunCodeResponse& response) {
  return JudgeFileSize(response, kFileSize);
}

Arguments Leave(const v1::Limits&) { return {"left"}; }
void LimitNothing(const Way&, v1::RunCodeRequest&, v1::Limits&) {}

constexpr LimitTrial kTrials[] = {
    {"memory-limit", AskForMemory, LimitMemory, JudgeMemory, true},
    {"process-limit", AskForProcesses, LimitProcesses, JudgeProcesses, true},
    {"cpu-limit", Compute, LimitProcessor, JudgeProcessor, true},
    {"wall-limit", Wait, LimitTime, JudgeTime, true},
    {"output-limit", Print, LimitOutput, JudgeOutput, true},
    {"disk-limit", FillTmp, LimitTmp, JudgeTmp, true},
    {"file-size-limit", WriteLong, LimitFileSize, JudgeLong, false},
    {"leftovers-killed", Leave, LimitNothing, JudgeLeftovers, false},
};

}  // namespace

absl::Span<const LimitTrial> LimitTrials() { return kTrials; }

std::string TooLarge(const v1::Limits& in_force) {
  if (in_force.memory_bytes() > kMaxMemory) {
    return absl::StrCat("a limit of ", FormatByteSize(in_force.memory_bytes()),
                        " is too large to be tried on a machine in use");
  }
  if (in_force.max_processes() > kMaxProcesses) {
    return absl::StrCat("a limit of ", in_force.max_processes(),
                        " processes is too large to be tried");
  }
  if (in_force.tmp_bytes() > kMaxTmp) {
    return absl::StrCat(FormatByteSize(in_force.tmp_bytes()),
                        " in /tmp are too much to be tried");
  }
  return "";
}

}  // namespace sandglass::client
