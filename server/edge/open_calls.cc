#include "server/edge/open_calls.h"

#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "grpc/grpc.h"
#include "server/base/errors.h"
#include "server/base/log.h"

namespace sandglass::server {
namespace {

// What a client that keeps a stream open too many may wait before it tries
// again; nobody knows when one of them ends.
constexpr absl::Duration kRetryStream = absl::Seconds(1);

// Other proofs hold for as long as their connections.
bool MayEnd(const Identity& caller) {
  return caller.proof == Proof::kToken || caller.proof == Proof::kJwt;
}

std::shared_ptr<grpc_call> Keep(grpc_call* call) {
  ::grpc_call_ref(call);
  return {call, ::grpc_call_unref};
}

}  // namespace

void OpenCalls::BeginStream(const grpc::ServerContextBase* context) {
  absl::MutexLock lock(&mutex_);
  calls_[context].streams = true;
}

void OpenCalls::End(const grpc::ServerContextBase* context) {
  // Declared before the lock, so that gRPC isn't called while it is held.
  Call ended;
  absl::MutexLock lock(&mutex_);
  const auto found = calls_.find(context);
  if (found == calls_.end()) return;
  ended = std::move(found->second);
  calls_.erase(found);
  const auto streams = streams_.find(ended.tenant);
  if (streams != streams_.end() && --streams->second == 0) {
    streams_.erase(streams);
  }
}

absl::Status OpenCalls::Admit(const grpc::ServerContextBase& context,
                              const Identity& caller, uint64_t max_streams) {
  absl::MutexLock lock(&mutex_);
  if (const auto found = calls_.find(&context); found != calls_.end() &&
                                                found->second.streams &&
                                                found->second.tenant.empty()) {
    uint64_t& streams = streams_[caller.tenant];
    if (streams >= max_streams) {
      return TenantCeiling(caller.tenant, "streams", streams, max_streams,
                           kRetryStream);
    }
    ++streams;
    found->second.tenant = caller.tenant;
  }
  if (!MayEnd(caller)) return absl::OkStatus();
  Call& call = calls_[&context];
  call.caller = caller;
  call.call = Keep(const_cast<grpc::ServerContextBase&>(context).c_call());
  return absl::OkStatus();
}

void OpenCalls::CancelUnproved(
    const std::function<bool(const Identity&)>& holds) {
  std::vector<std::shared_ptr<grpc_call>> unproved;
  {
    absl::MutexLock lock(&mutex_);
    for (auto& [context, call] : calls_) {
      if (call.call == nullptr || holds(call.caller)) continue;
      Log(LogLevel::kInfo, "call_cancelled",
          {{"caller", call.caller.name},
           {"reason", "its credentials were revoked or have ended"}});
      unproved.push_back(std::exchange(call.call, nullptr));
    }
  }
  for (const auto& call : unproved) {
    ::grpc_call_cancel_with_status(
        call.get(), GRPC_STATUS_UNAUTHENTICATED,
        "the credentials of this call were revoked or have ended", nullptr);
  }
}

}  // namespace sandglass::server
