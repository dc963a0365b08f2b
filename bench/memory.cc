#include "bench/memory.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/machine.h"
#include "bench/programs.h"
#include "sandbox/os/process.h"
#include "sandbox/os/status.h"

namespace sandglass::bench {
namespace {

constexpr absl::Duration kFillTime = absl::Seconds(60);
constexpr absl::Duration kEndTime = absl::Seconds(30);
constexpr absl::Duration kLook = absl::Milliseconds(200);

// Every kind has the jails that the daemon wants of it.
absl::Status WaitUntilFull(DaemonClient& client) {
  const absl::Time end = absl::Now() + kFillTime;
  for (;;) {
    const absl::StatusOr<std::vector<PoolStock>> stocks = client.Pool();
    if (!stocks.ok()) return stocks.status();
    const auto lacks = [](const PoolStock& stock) {
      return stock.idle < stock.target;
    };
    const auto lacking = std::find_if(stocks->begin(), stocks->end(), lacks);
    if (!stocks->empty() && lacking == stocks->end()) return absl::OkStatus();
    if (absl::Now() > end) {
      return absl::DeadlineExceededError(
          stocks->empty()
              ? std::string("no pool")
              : absl::StrCat("only ", lacking->idle, " of ", lacking->target,
                             " ", lacking->kind, " jails after ",
                             absl::FormatDuration(kFillTime)));
    }
    absl::SleepFor(kLook);
  }
}

bool RunsWarm(DaemonClient& client, const std::string& programs) {
  const Program& trivial = Programs().front();
  const absl::StatusOr<ProgramText> text = ReadProgram(programs, trivial, 1);
  if (!text.ok()) return false;
  const absl::StatusOr<Sample> sample = client.TimeRun(trivial, *text);
  return sample.ok() && absl::EndsWith(sample->served, "warm");
}

absl::Status EndDaemon(pid_t daemon) {
  const os::Fd pidfd = os::PidfdOpen(daemon);
  if (!pidfd.valid() || !os::PidfdSendSignal(pidfd, SIGTERM)) {
    return os::ErrnoStatus("signal the daemon");
  }
  pollfd ended = {pidfd.get(), POLLIN, 0};
  const int timeout = static_cast<int>(absl::ToInt64Milliseconds(kEndTime));
  if (::poll(&ended, 1, timeout) == 1) return absl::OkStatus();
  return absl::DeadlineExceededError(
      absl::StrCat("the daemon did not end within ",
                   absl::FormatDuration(kEndTime), " of a SIGTERM"));
}

absl::Status Measure(const CrowdOptions& options, const DaemonGroups& groups,
                     Crowd& crowd) {
  absl::StatusOr<DaemonClient> client = DaemonClient::Connect(options.address);
  if (!client.ok()) return client.status();
  if (absl::Status full = WaitUntilFull(*client); !full.ok()) return full;
  crowd.jails = groups.Idle();
  crowd.group_bytes = groups.MemoryBytes();
  crowd.runs = RunsWarm(*client, options.programs);
  const int64_t before = AvailableBytes();
  if (absl::Status ended = EndDaemon(options.daemon); !ended.ok()) {
    return ended;
  }
  absl::SleepFor(kLook);
  crowd.left = groups.Processes();
  crowd.freed_bytes = AvailableBytes() - before;
  return absl::OkStatus();
}

}  // namespace

MemoryReport MeasureIdle(DaemonClient& client, const DaemonGroups& groups) {
  MemoryReport report;
  if (const absl::Status full = WaitUntilFull(client); !full.ok()) {
    report.problem = std::string(full.message());
    return report;
  }
  report.idle = groups.Idle();
  return report;
}

Crowd MeasureCrowd(const CrowdOptions& options, const DaemonGroups& groups) {
  Crowd crowd = {.wanted = options.wanted};
  if (const absl::Status status = Measure(options, groups, crowd);
      !status.ok()) {
    crowd.problem = std::string(status.message());
  }
  return crowd;
}

}  // namespace sandglass::bench
