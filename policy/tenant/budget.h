#ifndef SANDGLASS_POLICY_TENANT_BUDGET_H_
#define SANDGLASS_POLICY_TENANT_BUDGET_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace sandglass::policy {

// What runs use up, as opposed to what they have while they go on.
enum class Resource {
  kRuns,
  kCpuSeconds,
  kGbSeconds,  // memory that was reserved × the time for which it was
  kEgressBytes,
};
inline constexpr size_t kResources = 4;

// The name in tenants' files: "runs", "cpu_seconds", "gb_seconds",
// "egress_bytes".
std::string_view ResourceName(Resource resource);

// An amount of each resource.
class Amounts {
 public:
  double& operator[](Resource resource) {
    return values_[static_cast<size_t>(resource)];
  }
  double operator[](Resource resource) const {
    return values_[static_cast<size_t>(resource)];
  }
  Amounts& operator+=(const Amounts& other);
  friend bool operator==(const Amounts&, const Amounts&) = default;

 private:
  std::array<double, kResources> values_ = {};
};

// The most of each resource in one window; infinity: as much as there is.
struct Budget {
  Budget();
  Amounts most;
  friend bool operator==(const Budget&, const Budget&) = default;
};

// The windows.
enum class BudgetSpan { kHour, kDay };
// "hour" or "day".
std::string_view BudgetSpanName(BudgetSpan span);

struct Budgets {
  Budget hour;
  Budget day;
  friend bool operator==(const Budgets&, const Budgets&) = default;
};

// A budget that is used up.
struct BudgetSpent {
  BudgetSpan span;
  Resource resource;
  double used = 0;
  double most = 0;
  // After so long less of it is used than it allows, if nothing more is.
  absl::Duration room_after;
};

// What was used in the last hour, or the last day: the window moves along with
// time, and what leaves it counts no more. It moves in sixtieths of its length,
// so that something counts for up to a sixtieth longer than the window.
//
// Times are passed in. One that lies before that of an earlier call counts as
// equal to it, and time goes on from there: a clock that is set back neither
// frees anything at once nor keeps the window from moving.
class SlidingWindow {
 public:
  // What is in it, without the time: for a later process.
  struct Kept {
    absl::Duration into_newest;  // time since the newest step began
    std::vector<Amounts> steps;  // the newest first; the rest are empty
  };

  explicit SlidingWindow(absl::Duration length) : step_(length / kSteps) {}
  // As it was at that time.
  SlidingWindow(absl::Duration length, const Kept& kept, absl::Time then);

  void Add(const Amounts& amounts, absl::Time now);
  Amounts Used(absl::Time now);
  // After which time less than `most` is used; zero: it is so now.
  absl::Duration RoomAfter(Resource resource, double most, absl::Time now);
  Kept Keep(absl::Time now);

 private:
  static constexpr size_t kSteps = 60;

  // Moves the window to the time.
  void Advance(absl::Time now);

  absl::Duration step_;
  // One more than fit into the window: the newest is not complete.
  std::array<Amounts, kSteps + 1> steps_;
  size_t newest_ = 0;
  absl::Duration into_newest_;  // time since the newest step began
  std::optional<absl::Time> last_;
};

// What a tenant has used.
class BudgetUse {
 public:
  struct Kept {
    SlidingWindow::Kept hour, day;
  };

  BudgetUse() = default;
  // As it was at that time.
  BudgetUse(const Kept& kept, absl::Time then);

  void Add(const Amounts& amounts, absl::Time now);
  // Of the budgets that are used up, the one that has room again last.
  std::optional<BudgetSpent> FindSpent(const Budgets& budgets, absl::Time now);
  Amounts Used(BudgetSpan span, absl::Time now);
  Kept Keep(absl::Time now) { return {hour_.Keep(now), day_.Keep(now)}; }

 private:
  static constexpr absl::Duration kHour = absl::Hours(1);
  static constexpr absl::Duration kDay = absl::Hours(24);

  SlidingWindow hour_{kHour};
  SlidingWindow day_{kDay};
};

}  // namespace sandglass::policy

#endif  // SANDGLASS_POLICY_TENANT_BUDGET_H_
