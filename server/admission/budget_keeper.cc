#include "server/admission/budget_keeper.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "internal/durable.pb.h"
#include "policy/tenant/budget.h"
#include "server/base/digest.h"
#include "server/base/durable_log.h"
#include "server/base/log.h"

namespace sandglass::server {
namespace {

using policy::Amounts;
using policy::BudgetUse;
using policy::Resource;
using policy::SlidingWindow;

constexpr size_t kNameDigits = 16;

std::string NameFor(const std::string& daemon) {
  Digest digest;
  digest.Add(daemon);
  return digest.Hex().substr(0, kNameDigits);
}

internal::StoredWindow ToStored(const SlidingWindow::Kept& window) {
  internal::StoredWindow stored;
  stored.set_into_newest_ns(absl::ToInt64Nanoseconds(window.into_newest));
  for (const Amounts& step : window.steps) {
    internal::StoredAmounts& amounts = *stored.add_steps();
    amounts.set_runs(step[Resource::kRuns]);
    amounts.set_cpu_seconds(step[Resource::kCpuSeconds]);
    amounts.set_gb_seconds(step[Resource::kGbSeconds]);
    amounts.set_egress_bytes(step[Resource::kEgressBytes]);
  }
  return stored;
}

SlidingWindow::Kept FromStored(const internal::StoredWindow& stored) {
  SlidingWindow::Kept window;
  window.into_newest = absl::Nanoseconds(stored.into_newest_ns());
  for (const internal::StoredAmounts& amounts : stored.steps()) {
    Amounts& step = window.steps.emplace_back();
    step[Resource::kRuns] = amounts.runs();
    step[Resource::kCpuSeconds] = amounts.cpu_seconds();
    step[Resource::kGbSeconds] = amounts.gb_seconds();
    step[Resource::kEgressBytes] = amounts.egress_bytes();
  }
  return window;
}

}  // namespace

BudgetKeeper::BudgetKeeper(os::Fd directory, const std::string& daemon,
                           Admission& admission)
    : directory_(std::move(directory)),
      file_(NameFor(daemon)),
      admission_(admission) {
  if (const absl::Status read = Read(); !read.ok()) {
    Log(LogLevel::kError, "budgets_lost",
        {{"error", std::string(read.message())},
         {"so", "what tenants have used of their budgets counts from now on"}});
  }
  thread_ = std::thread([this] {
    while (!over_.WaitForNotificationWithTimeout(kEvery)) Write();
    Write();
  });
}

BudgetKeeper::~BudgetKeeper() {
  over_.Notify();
  thread_.join();
}

absl::Status BudgetKeeper::Read() {
  internal::StoredBudgets stored;
  const absl::StatusOr<DurableLog> log =
      DurableLog::Open(directory_, file_, [&](absl::string_view record) {
        return stored.ParseFromArray(record.data(),
                                     static_cast<int>(record.size()))
                   ? absl::OkStatus()
                   : absl::DataLossError("the file of budgets is none of ours");
      });
  if (!log.ok()) return log.status();
  // Where the clock was set back no time has passed: nothing is free too early.
  const absl::Duration since =
      std::max(absl::ZeroDuration(),
               absl::Now() - absl::FromUnixNanos(stored.written_ns()));
  std::map<std::string, BudgetUse::Kept> uses;
  for (const auto& [tenant, use] : stored.tenants()) {
    uses[tenant] = {FromStored(use.hour()), FromStored(use.day())};
  }
  admission_.RestoreBudgets(uses, since);
  return absl::OkStatus();
}

void BudgetKeeper::Write() {
  internal::StoredBudgets stored;
  for (const auto& [tenant, use] : admission_.KeepBudgets()) {
    internal::StoredUse& kept = (*stored.mutable_tenants())[tenant];
    *kept.mutable_hour() = ToStored(use.hour);
    *kept.mutable_day() = ToStored(use.day);
  }
  internal::StoredBudgets without_times = stored;
  for (auto& [tenant, use] : *without_times.mutable_tenants()) {
    use.mutable_hour()->clear_into_newest_ns();
    use.mutable_day()->clear_into_newest_ns();
  }
  std::string text = without_times.SerializeAsString();
  if (text == written_) return;  // what is there still holds
  stored.set_written_ns(absl::ToUnixNanos(absl::Now()));
  const absl::StatusOr<DurableLog> log =
      DurableLog::Replace(directory_, file_, stored.SerializeAsString());
  if (!log.ok() && !failing_) {
    Log(LogLevel::kError, "budgets_not_kept",
        {{"error", std::string(log.status().message())},
         {"so", "after a restart tenants have what they had at the last one"}});
  }
  failing_ = !log.ok();
  if (log.ok()) written_ = std::move(text);
}

}  // namespace sandglass::server
