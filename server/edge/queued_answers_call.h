#ifndef SANDGLASS_SERVER_EDGE_QUEUED_ANSWERS_CALL_H_
#define SANDGLASS_SERVER_EDGE_QUEUED_ANSWERS_CALL_H_

#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/edge/grpc_status.h"
#include "server/edge/unary_call.h"

namespace sandglass::server {

// A call with a stream of answers that come when they come, and wait while
// gRPC writes an earlier one. The derived class has the queue of those that
// wait. OnDone deletes the call.
class QueuedAnswersCall : public WriteReactor {
 public:
  // Accepts no further answers; the call ends with `status` when all that wait
  // are written. Only the first call counts.
  void Close(const absl::Status& status) ABSL_LOCKS_EXCLUDED(mutex_) {
    Change([&] {
      mutex_.AssertHeld();
      if (!status_.has_value()) status_ = status;
      return true;
    });
  }

 protected:
  // Calls `change` under the lock and then, unless it returns false, does what
  // is to be done next.
  template <typename ChangeOfQueue>
  void Change(const ChangeOfQueue& change) ABSL_LOCKS_EXCLUDED(mutex_) {
    Step step;
    {
      absl::MutexLock lock(&mutex_);
      if (!change()) return;
      step = NextStep();
    }
    Perform(step);
  }
  // Takes the next answer out of the queue. Returns false when none waits, or
  // when it can't be written: then sets broken_.
  virtual bool TakeNext(Bytes& answer)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) = 0;
  // The answer that TakeNext returned last was written, or could not be.
  virtual void HandleWritten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {}

  absl::Mutex mutex_;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // nothing more is written

 private:
  // What to do next. It is decided and noted under the lock.
  enum class Step { kNothing, kWrite, kFinish };
  Step NextStep() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || finished_) return Step::kNothing;
    if (!broken_ && TakeNext(current_)) {
      writing_ = true;
      return Step::kWrite;
    }
    if (!status_.has_value()) return Step::kNothing;
    finished_ = true;
    return Step::kFinish;
  }
  // Called without the lock, since gRPC may delete the call as soon as Finish
  // has begun. After kNothing another thread may already have got there, so
  // nothing of the call is touched; after the other two steps the flags keep
  // all other threads away.
  void Perform(Step step) ABSL_LOCKS_EXCLUDED(mutex_) {
    if (step == Step::kWrite) StartWrite(&current_);
    if (step == Step::kFinish) Finish(FinalStatus());
  }
  grpc::Status FinalStatus() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return ToGrpcStatus(*status_);
  }

  void OnWriteDone(bool ok) override ABSL_LOCKS_EXCLUDED(mutex_) {
    Change([&] {
      mutex_.AssertHeld();
      writing_ = false;
      current_.Clear();
      HandleWritten();
      broken_ = broken_ || !ok;
      return true;
    });
  }
  void OnDone() override { delete this; }

  Bytes current_;  // belongs to gRPC while writing_
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EDGE_QUEUED_ANSWERS_CALL_H_
