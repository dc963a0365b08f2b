#ifndef SANDGLASS_CLIENT_CONNECTION_CANCELLABLE_CALL_H_
#define SANDGLASS_CLIENT_CONNECTION_CANCELLABLE_CALL_H_

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"

namespace sandglass::client {

// Cancels a call to the daemon from another thread, and with it what the call
// runs there. Thread-safe.
class CallCancel {
 public:
  // The calls belong to the trace with this traceparent (IsTraceparent); empty:
  // to no trace that is known here.
  explicit CallCancel(std::string traceparent = "")
      : traceparent_(std::move(traceparent)) {}

  // Ends the call in progress, and every later one at once.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);
  bool cancelled() const ABSL_LOCKS_EXCLUDED(mutex_);

  // While the scope lives, Cancel ends this call. It also sets the call's
  // trace, so make it before the call begins. Scopes can't be nested.
  class Scope {
   public:
    Scope(CallCancel& cancel, grpc::ClientContext& context) : cancel_(cancel) {
      cancel_.Watch(&context);
    }
    ~Scope() { cancel_.Watch(nullptr); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    CallCancel& cancel_;
  };

 private:
  void Watch(grpc::ClientContext* context) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string traceparent_;
  mutable absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

// Makes a call that takes longer than `patience` from now end with
// DEADLINE_EXCEEDED.
inline void SetDeadline(grpc::ClientContext& context, absl::Duration patience) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + patience));
}

// Makes a unary call that `cancel` can end and that takes at most `patience`.
template <typename Stub, typename Request, typename Response>
grpc::Status MakeCancellableCall(
    Stub& stub,
    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                 Response*),
    const Request& request, Response& response, CallCancel& cancel,
    absl::Duration patience) {
  grpc::ClientContext context;
  SetDeadline(context, patience);
  const CallCancel::Scope scope(cancel, context);
  return (stub.*method)(&context, request, &response);
}

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_CANCELLABLE_CALL_H_
