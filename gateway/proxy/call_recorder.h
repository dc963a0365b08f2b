#ifndef SANDGLASS_GATEWAY_PROXY_CALL_RECORDER_H_
#define SANDGLASS_GATEWAY_PROXY_CALL_RECORDER_H_

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "gateway/proxy/method_routes.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/status.h"
#include "server/base/clock.h"
#include "server/identity/identity.h"

namespace sandglass::gateway {

// A call that has ended, as the gateway saw it.
struct PassedCall {
  const MethodRoute* route = nullptr;        // never null
  const server::Identity* caller = nullptr;  // null: it is nobody known
  bool http = false;                         // it came by HTTP/1.1
  std::string_view node;  // to which it went last; empty: to none, or to all
  int tries = 0;          // nodes that it went to
  int code = 0;           // a value of grpc::StatusCode
  std::string reason;     // of the status' ErrorInfo
  absl::Duration took;
};

// Puts calls on record. Thread-safe; nothing blocks for long.
class CallRecorder {
 public:
  virtual ~CallRecorder() = default;
  virtual void Record(const PassedCall& call) = 0;
};

// One call until it is on record.
class CallRecord {
 public:
  // All that is given outlives this object.
  CallRecord(CallRecorder& recorder, const MethodRoute& route,
             const server::Identity& caller,
             const grpc::CallbackServerContext& context);
  // Once.
  void End(const grpc::Status& status, std::string_view node = "",
           int tries = 0) const;

 private:
  CallRecorder& recorder_;
  const MethodRoute& route_;
  const server::Identity& caller_;
  const bool http_;
  const server::MonotonicTime began_ = server::Now();
};

// One that is refused since it isn't known whose it is, or because of that.
void RecordRefused(CallRecorder& recorder, const MethodRoute& route,
                   const grpc::CallbackServerContext& context,
                   const grpc::Status& status);

}  // namespace sandglass::gateway

#endif  // SANDGLASS_GATEWAY_PROXY_CALL_RECORDER_H_
