#include "policy/limits/limit_fields.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "policy/text/units.h"

namespace sandglass::policy {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = 1024 * kKiB;
constexpr uint64_t kGiB = 1024 * kMiB;
constexpr uint64_t kTiB = 1024 * kGiB;
constexpr uint64_t kMillisecond = 1'000'000;
constexpr uint64_t kDay = 24ull * 3600 * 1'000'000'000;

uint64_t ToNumber(absl::Duration value) {
  return static_cast<uint64_t>(
      std::max<int64_t>(0, absl::ToInt64Nanoseconds(value)));
}
uint64_t ToNumber(uint64_t value) { return value; }

template <auto kMember, auto kWish>
constexpr LimitField Field(LimitKind kind, LimitUnit unit, uint64_t min,
                           uint64_t max) {
  using Value =
      std::remove_reference_t<decltype(std::declval<Limits&>().*kMember)>;
  return {.kind = kind,
          .unit = unit,
          .min = min,
          .max = max,
          .get = [](const Limits& limits) { return ToNumber(limits.*kMember); },
          .set =
              [](Limits& limits, uint64_t value) {
                if constexpr (std::is_same_v<Value, absl::Duration>) {
                  limits.*kMember = absl::Nanoseconds(value);
                } else {
                  limits.*kMember = static_cast<Value>(std::min<uint64_t>(
                      value, std::numeric_limits<Value>::max()));
                }
              },
          .wish = [](const LimitRequest& request) -> std::optional<uint64_t> {
            const auto& wish = request.*kWish;
            if (!wish) return std::nullopt;
            return ToNumber(*wish);
          }};
}

}  // namespace

using L = Limits;
using R = LimitRequest;

const std::array<LimitField, 12> kLimitFields = {
    Field<&L::wall_time, &R::wall_time>(  //
        LimitKind::kWallTime, LimitUnit::kNanoseconds, kMillisecond, kDay),
    Field<&L::cpu_time, &R::cpu_time>(  //
        LimitKind::kCpuTime, LimitUnit::kNanoseconds, kMillisecond, 64 * kDay),
    // With less than this no interpreter reaches its first line.
    Field<&L::memory_bytes, &R::memory_bytes>(  //
        LimitKind::kMemory, LimitUnit::kBytes, 8 * kMiB, 16 * kTiB),
    // The program itself is one process; numbers of processes end at 4 Mi
    // (PID_MAX_LIMIT).
    Field<&L::max_processes, &R::max_processes>(LimitKind::kProcesses,
                                                LimitUnit::kCount, 1, 1 << 22),
    // The kernel's smallest quota is 1 ms of its 100 ms period.
    Field<&L::cpu_millis, &R::cpu_millis>(LimitKind::kCpuShare,
                                          LimitUnit::kCount, 10, 8192 * 1000),
    // A few pages: the home directory lives here as well.
    Field<&L::tmp_bytes, &R::tmp_bytes>(  //
        LimitKind::kTmpBytes, LimitUnit::kBytes, 64 * kKiB, 8 * kTiB),
    // The program's own text has to fit.
    Field<&L::workspace_bytes, &R::workspace_bytes>(
        LimitKind::kWorkspaceBytes, LimitUnit::kBytes, 64 * kKiB, 8 * kTiB),
    // The jail's own directories and the program's file need some.
    Field<&L::max_files, &R::max_files>(  //
        LimitKind::kFileCount, LimitUnit::kCount, 16, 1 << 30),
    // Two streams and the files must fit in one message of 16 MiB.
    Field<&L::output_bytes, &R::output_bytes>(  //
        LimitKind::kOutputBytes, LimitUnit::kBytes, 1, 6 * kMiB),
    Field<&L::output_total_bytes, &R::output_total_bytes>(
        LimitKind::kOutputTotalBytes, LimitUnit::kBytes, 1, kTiB),
    // For the standard streams, the program's file, a shared library, a module.
    // The kernel's own upper limit (fs.nr_open) is 1 Mi.
    Field<&L::open_files, &R::open_files>(  //
        LimitKind::kOpenFiles, LimitUnit::kCount, 16, 1 << 20),
    Field<&L::file_size_bytes, &R::file_size_bytes>(
        LimitKind::kFileSize, LimitUnit::kBytes, 4 * kKiB, 8 * kTiB),
};

const LimitField& FieldOf(LimitKind kind) {
  return kLimitFields[static_cast<size_t>(kind) - 1];
}

std::string FormatLimit(LimitUnit unit, uint64_t value) {
  switch (unit) {
    case LimitUnit::kNanoseconds:
      return FormatTime(absl::Nanoseconds(value));
    case LimitUnit::kBytes:
      return FormatBytes(value);
    case LimitUnit::kCount:
      break;
  }
  return absl::StrCat(value);
}

}  // namespace sandglass::policy
