#ifndef SANDGLASS_CLIENT_AGENT_AGENT_INTERRUPTS_H_
#define SANDGLASS_CLIENT_AGENT_AGENT_INTERRUPTS_H_

#include <atomic>
#include <memory>
#include <set>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/base/unique_fd.h"
#include "client/connection/cancellable_call.h"
#include "client/terminal/signal_listener.h"

namespace sandglass::client {

// What signals mean: while tools run, Ctrl-C first stops those, then the turn;
// at the prompt it drops the line. SIGTERM and SIGHUP end the conversation. A
// signal that comes when everything was stopped already ends the process. Start
// it before any other thread (SignalListener).
class AgentInterrupts {
 public:
  static absl::StatusOr<std::unique_ptr<AgentInterrupts>> Start();
  AgentInterrupts(const AgentInterrupts&) = delete;
  AgentInterrupts& operator=(const AgentInterrupts&) = delete;

  // Marks a turn of the model, as long as this object lives.
  class TurnScope {
   public:
    explicit TurnScope(AgentInterrupts& owner) : owner_(owner) {
      owner_.SetInTurn(true);
    }
    ~TurnScope() { owner_.SetInTurn(false); }
    TurnScope(const TurnScope&) = delete;
    TurnScope& operator=(const TurnScope&) = delete;

   private:
    AgentInterrupts& owner_;
  };

  // Marks a call that an interrupt stops, as long as this object lives.
  class ToolScope {
   public:
    ToolScope(AgentInterrupts& owner, CallCancel& cancel)
        : owner_(owner), cancel_(cancel) {
      owner_.Add(cancel_);
    }
    ~ToolScope() { owner_.Remove(cancel_); }
    ToolScope(const ToolScope&) = delete;
    ToolScope& operator=(const ToolScope&) = delete;

   private:
    AgentInterrupts& owner_;
    CallCancel& cancel_;
  };

  // Set when the turn shall end.
  const std::atomic<bool>& turn_cancelled() const { return turn_cancelled_; }
  // The signal that ends the conversation; 0: there was none.
  int ended_by() const { return ended_by_; }
  // Readable when a signal came at the prompt; see ConsumePromptSignal.
  int prompt_fd() const { return prompt_.get(); }
  void ConsumePromptSignal() const;

 private:
  explicit AgentInterrupts(UniqueFd prompt) : prompt_(std::move(prompt)) {}
  void OnSignal(int number) ABSL_LOCKS_EXCLUDED(mutex_);
  void SetInTurn(bool in_turn) ABSL_LOCKS_EXCLUDED(mutex_);
  void Add(CallCancel& cancel) ABSL_LOCKS_EXCLUDED(mutex_);
  void Remove(CallCancel& cancel) ABSL_LOCKS_EXCLUDED(mutex_);

  const UniqueFd prompt_;  // an eventfd
  std::atomic<bool> turn_cancelled_{false};
  std::atomic<int> ended_by_{0};
  absl::Mutex mutex_;
  bool in_turn_ ABSL_GUARDED_BY(mutex_) = false;
  bool tools_stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<CallCancel*> tools_ ABSL_GUARDED_BY(mutex_);
  // Last, because its thread uses all other members.
  std::unique_ptr<SignalListener> listener_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_AGENT_AGENT_INTERRUPTS_H_
