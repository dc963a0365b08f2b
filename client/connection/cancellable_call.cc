#include "client/connection/cancellable_call.h"

#include "client/connection/traceparent.h"

namespace sandglass::client {

void CallCancel::Cancel() {
  const absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (context_ != nullptr) context_->TryCancel();
}

bool CallCancel::cancelled() const {
  const absl::MutexLock lock(&mutex_);
  return cancelled_;
}

// A call that is cancelled before it begins remembers that.
void CallCancel::Watch(grpc::ClientContext* context) {
  const absl::MutexLock lock(&mutex_);
  context_ = context;
  if (context_ != nullptr && !traceparent_.empty()) {
    context_->AddMetadata(kTraceparent, traceparent_);
  }
  if (cancelled_ && context_ != nullptr) context_->TryCancel();
}

}  // namespace sandglass::client
