#include "client/mcp/http/http_run.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/base/unique_fd.h"
#include "client/mcp/tool_run.h"

namespace sandglass::client {
namespace {

// How long a stream may be silent: then a comment, which has no meaning, is
// sent so that proxies keep the connection.
constexpr absl::Duration kSilence = absl::Seconds(15);
constexpr char kComment[] = ": still running\n\n";

// Passes messages from the run's thread to the connection's.
class Outbox {
 public:
  Outbox() : wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  void Add(const Json& message) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      const absl::MutexLock lock(&mutex_);
      absl::StrAppend(&events_, EventText(RpcText(message)));
    }
    Wake();
  }
  void SetReply(Json reply) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      const absl::MutexLock lock(&mutex_);
      reply_ = std::move(reply);
    }
    Wake();
  }
  // What was added since the last call, and the reply, which is null until it
  // is there.
  std::pair<std::string, Json> Take() ABSL_LOCKS_EXCLUDED(mutex_) {
    uint64_t count = 0;
    if (read(wake_.get(), &count, sizeof(count)) < 0) count = 0;
    const absl::MutexLock lock(&mutex_);
    return {std::exchange(events_, {}), reply_};
  }
  const UniqueFd& wake() const { return wake_; }

 private:
  void Wake() {
    const uint64_t one = 1;
    if (write(wake_.get(), &one, sizeof(one)) < 0) return;
  }

  const UniqueFd wake_;
  absl::Mutex mutex_;
  std::string events_ ABSL_GUARDED_BY(mutex_);
  Json reply_ ABSL_GUARDED_BY(mutex_);
};

// Passes on what arrives until the reply is there, and returns the reply; null
// when the client has gone away.
Json WaitForReply(Outbox& outbox, bool stream, HttpConnection& connection) {
  for (;;) {
    const HttpConnection::Event event =
        connection.Wait(outbox.wake(), kSilence);
    if (event == HttpConnection::Event::kClosed) return nullptr;
    auto [events, reply] = outbox.Take();
    if (event == HttpConnection::Event::kNothing && events.empty()) {
      events = kComment;
    }
    if (stream && !connection.Write(events)) return nullptr;
    if (!reply.is_null()) return reply;
  }
}

}  // namespace

void RunOverHttp(const McpProtocol& protocol, const ToolRun& run, bool stream,
                 HttpConnection& connection) {
  if (stream && !connection.Write(EventStreamHead())) return;
  CallCancel cancel(run.traceparent);
  Outbox outbox;
  std::thread thread([&] {
    outbox.SetReply(CarryOut(protocol, run, cancel, [&](const Json& message) {
      if (stream) outbox.Add(message);
    }));
  });
  const Json reply = WaitForReply(outbox, stream, connection);
  if (reply.is_null()) cancel.Cancel();
  thread.join();
  if (reply.is_null()) return;
  if (stream) {
    connection.Write(EventText(RpcText(reply)));
    return;
  }
  connection.Write(HttpText({.status = 200,
                             .content_type = "application/json",
                             .body = RpcText(reply),
                             .headers = {}}));
}

}  // namespace sandglass::client
