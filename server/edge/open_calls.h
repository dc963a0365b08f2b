#ifndef SANDGLASS_SERVER_EDGE_OPEN_CALLS_H_
#define SANDGLASS_SERVER_EDGE_OPEN_CALLS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/server_context.h"
#include "server/identity/identity.h"

namespace sandglass::server {

// The calls under way of which more has to be known than that they are there:
// those that stream, since a tenant may have only so many, and those whose
// caller has proved who it is by something that can end before the call does.
// Thread-safe.
class OpenCalls {
 public:
  // For gRPC's interceptor: a streaming call has begun, …
  void BeginStream(const grpc::ServerContextBase* context)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // … and a call of any kind has ended.
  void End(const grpc::ServerContextBase* context) ABSL_LOCKS_EXCLUDED(mutex_);

  // It is known whose call it is. RESOURCE_EXHAUSTED, "TENANT_CEILING": it is a
  // stream, and its tenant has `max_streams` already.
  absl::Status Admit(const grpc::ServerContextBase& context,
                     const Identity& caller, uint64_t max_streams)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Cancels the calls whose caller's proof no longer holds. Their clients get
  // UNAUTHENTICATED.
  void CancelUnproved(const std::function<bool(const Identity&)>& holds)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Call {
    bool streams = false;
    std::string tenant;  // of a stream that was admitted
    Identity caller;     // where there is a `call`
    // gRPC's own, which is kept for as long as this is; null: the proof lasts.
    std::shared_ptr<grpc_call> call;
  };

  absl::Mutex mutex_;
  std::map<const grpc::ServerContextBase*, Call> calls_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_OPEN_CALLS_H_
