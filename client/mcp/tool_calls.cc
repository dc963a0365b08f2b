#include "client/mcp/tool_calls.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace sandglass::client {

ToolCalls::ToolCalls(const McpProtocol& protocol, SendMessage send)
    : protocol_(protocol), send_(std::move(send)) {}

ToolCalls::~ToolCalls() {
  std::vector<std::thread> threads;
  {
    const absl::MutexLock lock(&mutex_);
    ending_ = true;
    waiting_.clear();
    for (auto& [id, call] : calls_) call->cancel.Cancel();
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void ToolCalls::Start(ToolRun run, const SendMessage& reply) {
  std::string problem;
  const Json id = run.id;
  {
    const absl::MutexLock lock(&mutex_);
    if (calls_.contains(id.dump())) {
      problem = "a request with this id is still under way";
    } else if (waiting_.size() >= kMaxWaiting) {
      problem = absl::StrCat("there are ", calls_.size(),
                             " calls under way; wait for one to end");
    } else {
      auto call = std::make_shared<Call>(std::move(run), reply);
      calls_[id.dump()] = call;
      waiting_.push_back(std::move(call));
      if (waiting_.size() > idle_ && threads_.size() < kMaxRunning) {
        threads_.emplace_back([this] { Work(); });
      }
    }
  }
  if (!problem.empty()) {
    reply(ErrorReply(id, {kServerBusy, std::move(problem), nullptr}));
  }
}

void ToolCalls::Cancel(const Json& id) {
  const absl::MutexLock lock(&mutex_);
  const auto found = calls_.find(id.dump());
  if (found == calls_.end()) return;
  found->second->cancel.Cancel();
  for (auto call = waiting_.begin(); call != waiting_.end(); ++call) {
    if (*call != found->second) continue;
    waiting_.erase(call);
    calls_.erase(found);
    return;
  }
}

void ToolCalls::Work() {
  for (;;) {
    std::shared_ptr<Call> call;
    {
      const absl::MutexLock lock(&mutex_);
      ++idle_;
      mutex_.Await(absl::Condition(
          +[](ToolCalls* self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(self->mutex_) {
            return self->ending_ || !self->waiting_.empty();
          },
          this));
      --idle_;
      if (ending_) return;
      call = std::move(waiting_.front());
      waiting_.pop_front();
    }
    CarryOutOne(*call);
  }
}

void ToolCalls::CarryOutOne(Call& call) {
  const Json reply =
      CarryOut(protocol_, call.run, call.cancel, [&](const Json& message) {
        if (!call.cancel.cancelled()) send_(message);
      });
  {
    // Before the reply: a client may use the id again as soon as it has the
    // reply.
    const absl::MutexLock lock(&mutex_);
    calls_.erase(call.run.id.dump());
  }
  if (!call.cancel.cancelled()) call.reply(reply);
}

}  // namespace sandglass::client
