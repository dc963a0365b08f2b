#ifndef SANDGLASS_CLIENT_MCP_TOOL_CALLS_H_
#define SANDGLASS_CLIENT_MCP_TOOL_CALLS_H_

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/mcp/mcp_protocol.h"
#include "client/mcp/tool_run.h"

namespace sandglass::client {

// The calls of one client that are in progress; each is answered when it ends.
// At most kMaxRunning run at a time, and others wait for their turn.
class ToolCalls {
 public:
  static constexpr size_t kMaxRunning = 8;
  static constexpr size_t kMaxWaiting = 64;

  // `protocol` has to outlive this object; `send` must be thread-safe.
  ToolCalls(const McpProtocol& protocol, SendMessage send);
  // Cancels all calls and waits for their ends.
  ~ToolCalls();
  ToolCalls(const ToolCalls&) = delete;
  ToolCalls& operator=(const ToolCalls&) = delete;

  // Starts a call, whose one reply goes to `reply`. Refuses it by that if there
  // are too many, or if its id is that of a call in progress. A call that is
  // cancelled gets no reply; `reply` is destroyed all the same.
  void Start(ToolRun run, const SendMessage& reply) ABSL_LOCKS_EXCLUDED(mutex_);

  // Stops the call with this id, which then gets no reply. If there is none, it
  // has ended before, and nothing happens.
  void Cancel(const Json& id) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Call {
    Call(ToolRun what, SendMessage whereto)
        : run(std::move(what)),
          reply(std::move(whereto)),
          cancel(run.traceparent) {}
    const ToolRun run;
    const SendMessage reply;
    CallCancel cancel;
  };

  void Work() ABSL_LOCKS_EXCLUDED(mutex_);
  void CarryOutOne(Call& call) ABSL_LOCKS_EXCLUDED(mutex_);

  const McpProtocol& protocol_;
  const SendMessage send_;
  absl::Mutex mutex_;
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  size_t idle_ ABSL_GUARDED_BY(mutex_) = 0;
  // Keyed by their ids as JSON, because 1 and "1" are different ids.
  std::map<std::string, std::shared_ptr<Call>> calls_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::shared_ptr<Call>> waiting_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_TOOL_CALLS_H_
