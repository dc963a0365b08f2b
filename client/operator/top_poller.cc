#include "client/operator/top_poller.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/strip.h"
#include "client/connection/error_text.h"

namespace sandglass::client {
namespace {

// A daemon that was stopped must not look as if it went on.
constexpr absl::Duration kPatience = absl::Seconds(3);
constexpr int kMaxActive = 200;
constexpr int kMaxEnded = 50;
constexpr int kMaxSessions = 50;

grpc::Status FillSnapshot(const Daemon& daemon, CallCancel& cancel,
                          TopSnapshot& snapshot) {
  grpc::Status status = MakeCancellableCall(
      *daemon.operators, &v1::OperatorService::Stub::GetStatus,
      v1::GetStatusRequest(), snapshot.status, cancel, kPatience);
  if (!status.ok()) return status;
  v1::ListRunsRequest active;
  active.set_page_size(kMaxActive);
  active.add_states(v1::RUN_STATE_QUEUED);
  active.add_states(v1::RUN_STATE_RUNNING);
  status =
      MakeCancellableCall(*daemon.stub, &v1::SandboxService::Stub::ListRuns,
                          active, snapshot.active, cancel, kPatience);
  if (!status.ok()) return status;
  v1::ListRunsRequest ended;
  ended.set_page_size(kMaxEnded);
  ended.add_states(v1::RUN_STATE_FINISHED);
  status =
      MakeCancellableCall(*daemon.stub, &v1::SandboxService::Stub::ListRuns,
                          ended, snapshot.ended, cancel, kPatience);
  if (!status.ok()) return status;
  v1::ListSessionsRequest sessions;
  sessions.set_page_size(kMaxSessions);
  return MakeCancellableCall(*daemon.sessions,
                             &v1::SessionService::Stub::ListSessions, sessions,
                             snapshot.sessions, cancel, kPatience);
}

}  // namespace

TopPoller::TopPoller(Endpoint endpoint, absl::Duration interval)
    : endpoint_(std::move(endpoint)),
      interval_(interval),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Work(); }) {}

TopPoller::~TopPoller() {
  {
    const absl::MutexLock lock(&mutex_);
    ending_ = true;
  }
  cancel_.Cancel();
  thread_.join();
}

std::optional<TopLook> TopPoller::Pop() {
  uint64_t count = 0;
  if (read(wake_.get(), &count, sizeof(count)) < 0) count = 0;
  const absl::MutexLock lock(&mutex_);
  return std::exchange(newest_, std::nullopt);
}

TopLook TopPoller::Poll(std::optional<Daemon>& daemon) {
  TopLook look;
  if (!daemon) {
    absl::StatusOr<Daemon> opened = OpenDaemon(endpoint_);
    if (!opened.ok()) {
      look.trouble = std::string(opened.status().message());
      return look;
    }
    daemon.emplace(*std::move(opened));
  }
  auto snapshot = std::make_shared<TopSnapshot>();
  const grpc::Status status = FillSnapshot(*daemon, cancel_, *snapshot);
  if (status.ok()) {
    look.snapshot = std::move(snapshot);
    return look;
  }
  const std::string text = RpcErrorText(status, endpoint_.address);
  look.trouble = std::string(
      absl::StripSuffix(absl::StripPrefix(text, "sandglass: "), "\n"));
  if (IsConnectionLoss(status)) daemon.reset();
  return look;
}

void TopPoller::Work() {
  std::optional<Daemon> daemon;
  for (;;) {
    TopLook look = Poll(daemon);
    const absl::MutexLock lock(&mutex_);
    newest_ = std::move(look);
    const uint64_t one = 1;
    // A full eventfd is readable too.
    if (write(wake_.get(), &one, sizeof(one)) < 0) {
    }
    mutex_.AwaitWithTimeout(absl::Condition(&ending_), interval_);
    if (ending_) return;
  }
}

}  // namespace sandglass::client
