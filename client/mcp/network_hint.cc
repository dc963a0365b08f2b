#include "client/mcp/network_hint.h"

#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "client/connection/daemon.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"

namespace sandglass::client {
namespace {

// A list of tools has to be there within 50 ms of the start.
constexpr absl::Duration kPatience = absl::Milliseconds(25);
// Reloading the policy may change the answer.
constexpr absl::Duration kFresh = absl::Seconds(30);

// What the answer says about the profile; nullopt if it doesn't name the
// profile.
std::optional<bool> NetworkOf(const v1::GetServerInfoResponse& info,
                              const std::string& profile) {
  for (const v1::ProfileInfo& each : info.profiles()) {
    if (each.name() == (profile.empty() ? "default" : profile)) {
      return each.network() != "none";
    }
  }
  return std::nullopt;
}

}  // namespace

NetworkHint::~NetworkHint() {
  std::thread thread;
  {
    const absl::MutexLock lock(&mutex_);
    ending_ = true;
    if (context_ != nullptr) context_->TryCancel();
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

bool NetworkHint::MayReachOutside() {
  const absl::MutexLock lock(&mutex_);
  if (absl::Now() - known_at_ < kFresh) return known_.value_or(true);
  if (!asking_) {
    asking_ = true;
    // The thread has said that it has finished.
    if (thread_.joinable()) thread_.join();
    thread_ = std::thread([this] { Ask(); });
  }
  mutex_.AwaitWithTimeout(absl::Condition(
                              +[](bool* asking) { return !*asking; }, &asking_),
                          kPatience);
  return known_.value_or(true);
}

void NetworkHint::Ask() {
  const absl::StatusOr<std::shared_ptr<const DaemonLink::Connection>>
      connection = link_.Get();
  const std::optional<v1::GetServerInfoResponse> info =
      connection.ok() ? InfoOf((*connection)->daemon) : std::nullopt;
  const absl::MutexLock lock(&mutex_);
  asking_ = false;
  known_ = info ? NetworkOf(*info, profile_) : std::nullopt;
  if (info) known_at_ = absl::Now();
}

std::optional<v1::GetServerInfoResponse> NetworkHint::InfoOf(
    const Daemon& daemon) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  {
    const absl::MutexLock lock(&mutex_);
    if (ending_) return std::nullopt;
    context_ = &context;
  }
  v1::GetServerInfoResponse info;
  const grpc::Status status =
      daemon.stub->GetServerInfo(&context, v1::GetServerInfoRequest(), &info);
  const absl::MutexLock lock(&mutex_);
  context_ = nullptr;
  if (!status.ok()) return std::nullopt;
  return info;
}

}  // namespace sandglass::client
