#ifndef SANDGLASS_CLIENT_TOOLBOX_TOOL_CALL_H_
#define SANDGLASS_CLIENT_TOOLBOX_TOOL_CALL_H_

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "grpcpp/client_context.h"

namespace sandglass::client {

// Stops a tool's call to the daemon from another thread, and with it what runs
// there. Thread-safe.
class ToolCancel {
 public:
  // The calls belong to this trace (IsTraceparent); empty: to none that is
  // known here.
  explicit ToolCancel(std::string traceparent = "")
      : traceparent_(std::move(traceparent)) {}

  // Ends the call under way and every later one at once.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);
  bool cancelled() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Makes Cancel end this call as long as the scope lives, and names its trace:
  // to be made before the call begins. Not nested.
  class Scope {
   public:
    Scope(ToolCancel& cancel, grpc::ClientContext& context) : cancel_(cancel) {
      cancel_.Watch(&context);
    }
    ~Scope() { cancel_.Watch(nullptr); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    ToolCancel& cancel_;
  };

 private:
  void Watch(grpc::ClientContext* context) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string traceparent_;
  mutable absl::Mutex mutex_;
  bool cancelled_ ABSL_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ ABSL_GUARDED_BY(mutex_) = nullptr;
};

// Hears what a program prints, and the progress of an install, as it comes.
// Raw bytes; not for terminals as they are. May be empty.
using ToolProgress = std::function<void(std::string_view bytes)>;

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_TOOLBOX_TOOL_CALL_H_
