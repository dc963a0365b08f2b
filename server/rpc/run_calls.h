#ifndef SANDGLASS_SERVER_RPC_RUN_CALLS_H_
#define SANDGLASS_SERVER_RPC_RUN_CALLS_H_

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "sandglass/v1/run.pb.h"
#include "server/edge/answer_room.h"
#include "server/edge/queued_answers_call.h"
#include "server/edge/unary_call.h"
#include "server/identity/identity.h"
#include "server/run/run.h"
#include "server/run/run_dispatcher.h"

namespace sandglass::server {

// The two calls that wait for a run. Each object is one call: it submits the
// request, answers when the run ends, and leaves the run when the client goes
// away. gRPC's OnDone deletes it.

// One RunCode.
class UnaryRunCall final : public UnaryReactor, RunListener {
 public:
  // All arguments must outlive the call.
  UnaryRunCall(RunDispatcher& dispatcher, AnswerRoom& answers, Bytes* response)
      : dispatcher_(dispatcher), held_(answers), response_(response) {}

  void Start(const Identity& caller, v1::RunCodeRequest&& request,
             std::optional<MonotonicTime> deadline);

 private:
  void OnEnd(const RunEnd& end) override;

  void OnCancel() override;
  void OnDone() override { delete this; }

  RunDispatcher& dispatcher_;
  HeldAnswer held_;
  Bytes* const response_;
  std::string caller_;
  // Set by Start, which returns before gRPC may call OnCancel.
  std::shared_ptr<Run> run_;
};

// Bounds the bytes that all StreamRunCode calls together hold for clients that
// read more slowly than their programs write, including what each waiting event
// costs. By the rule of Shares, a caller may have no more of the last quarter
// than what is left of it. Thread-safe.
class StreamBudget {
 public:
  // What the calls of one caller hold.
  class Share {
   public:
    explicit Share(StreamBudget& all) : all_(all) {}
    bool Acquire(uint64_t bytes) {
      const uint64_t own = used_.fetch_add(bytes) + bytes;
      const uint64_t used = all_.used_.fetch_add(bytes) + bytes;
      const uint64_t max = all_.max_bytes_;
      // This is what was left before these bytes were taken.
      const uint64_t left = max + bytes > used ? max + bytes - used : 0;
      if (used <= max - max / 4 || own <= left) return true;
      Release(bytes);
      return false;
    }
    void Release(uint64_t bytes) {
      used_.fetch_sub(bytes);
      all_.used_.fetch_sub(bytes);
    }

   private:
    StreamBudget& all_;
    std::atomic<uint64_t> used_{0};
  };

  explicit StreamBudget(uint64_t max_bytes) : max_bytes_(max_bytes) {}
  // The budget must outlive the share.
  std::shared_ptr<Share> ShareOf(const Identity& caller)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const uint64_t max_bytes_;
  std::atomic<uint64_t> used_{0};
  absl::Mutex mutex_;
  std::map<std::string, std::weak_ptr<Share>> shares_ ABSL_GUARDED_BY(mutex_);
};

// One StreamRunCode. A slow client never delays its run: events wait here, for
// each call at most output_total_bytes of them. When the caller's budget is
// used up, further output is left out of the stream; OutputChunk.offset shows
// the gap, and the result contains what that of a unary call would. The result
// itself has room as an answer until the call is over.
//
// A call that joined a run, or repeats one, gets the output in one go at the
// end: the head and tail that the answer keeps.
class StreamRunCall final : public QueuedAnswersCall, RunListener {
 public:
  // `dispatcher` and `answers` must outlive the call; `budget` is its caller's.
  StreamRunCall(RunDispatcher& dispatcher,
                std::shared_ptr<StreamBudget::Share> budget,
                AnswerRoom& answers)
      : dispatcher_(dispatcher), budget_(std::move(budget)), held_(answers) {}
  ~StreamRunCall() override;

  void Start(const Identity& caller, v1::RunCodeRequest&& request,
             std::optional<MonotonicTime> deadline);

 private:
  void OnCompiled(const JobResult& compile) override;
  void OnLibraryProgress(std::string_view line) override;
  void OnStarted(const Job& job) override;
  void OnOutput(Stream stream, std::string_view data, uint64_t offset,
                absl::Duration since_start) override;
  void OnRich(const RichOutput& output, absl::Duration since_start) override;
  void OnEnd(const RunEnd& end) override;

  void OnCancel() override;
  bool TakeNext(Bytes& answer) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void HandleWritten() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  struct Event {
    v1::StreamRunCodeResponse message;
    uint64_t charged = 0;  // bytes taken of the budget
  };
  // Puts the event at the end of the queue, unless the budget lacks room for
  // what it is charged with.
  void Push(v1::StreamRunCodeResponse&& message, uint64_t charge = 0)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The same for mere news, which is charged with all that it takes.
  void PushNews(v1::StreamRunCodeResponse&& message)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Drops everything that waits to be written.
  void Drop() ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds output to the last waiting event, if it continues where that event
  // ends.
  bool Extend(v1::OutputStream stream, std::string_view data, uint64_t offset)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void PushOutput(v1::OutputStream stream, const v1::Output& output)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // The time of the result, which is never before that of the last output.
  absl::Duration EndStamp(const v1::RunCodeResponse& response)
      ABSL_LOCKS_EXCLUDED(mutex_);

  RunDispatcher& dispatcher_;
  const std::shared_ptr<StreamBudget::Share> budget_;
  HeldAnswer held_;
  std::string caller_;
  // Set by Start, which returns before gRPC may call OnCancel.
  std::shared_ptr<Run> run_;

  std::deque<Event> queue_ ABSL_GUARDED_BY(mutex_);
  uint64_t next_sequence_ ABSL_GUARDED_BY(mutex_) = 1;
  // Taken of the budget for what is being written.
  uint64_t current_charged_ ABSL_GUARDED_BY(mutex_) = 0;
  // The time of the latest output, which may be read a moment after the
  // program's end.
  absl::Duration last_stamp_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_RUN_CALLS_H_
