#include "client/mcp/stdio_server.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "client/mcp/json_rpc.h"
#include "client/mcp/line_io.h"
#include "client/mcp/tool_calls.h"

namespace sandglass::client {
namespace {

// Sends the replies to a batch's messages in one array, when nobody is left who
// could add one.
class BatchReply {
 public:
  explicit BatchReply(SendMessage send) : send_(std::move(send)) {}
  BatchReply(const BatchReply&) = delete;
  BatchReply& operator=(const BatchReply&) = delete;
  ~BatchReply() {
    const absl::MutexLock lock(&mutex_);
    if (!replies_.empty()) send_(replies_);
  }

  void Add(const Json& reply) ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::MutexLock lock(&mutex_);
    replies_.push_back(reply);
  }

 private:
  const SendMessage send_;
  absl::Mutex mutex_;
  Json replies_ ABSL_GUARDED_BY(mutex_) = Json::array();
};

void CarryOutHandled(Handled handled, ToolCalls& calls,
                     const SendMessage& reply) {
  if (!handled.reply.is_null()) reply(handled.reply);
  if (!handled.cancel.is_null()) calls.Cancel(handled.cancel);
  if (handled.run) calls.Start(*std::move(handled.run), reply);
}

void ServeMessage(const McpProtocol& protocol, const RpcMessage& message,
                  ToolCalls& calls, const SendMessage& send) {
  if (message.kind != RpcMessage::Kind::kBatch) {
    return CarryOutHandled(protocol.Handle(message), calls, send);
  }
  const auto replies = std::make_shared<BatchReply>(send);
  const SendMessage add = [replies](const Json& reply) { replies->Add(reply); };
  for (const RpcMessage& part : message.batch) {
    CarryOutHandled(protocol.HandlePart(part), calls, add);
  }
}

}  // namespace

void ServeLines(const McpProtocol& protocol, int in, int out,
                const StopSignal& stop) {
  LineReader reader(in, kMaxRpcBytes, stop);
  LineWriter writer(out, stop);
  const auto send = [&](const Json& message) {
    writer.Write(RpcText(message));
  };
  ToolCalls calls(protocol, send);
  std::string line;
  for (;;) {
    const LineReader::Got got = reader.Next(line);
    if (got == LineReader::Got::kEnd) return;
    if (got == LineReader::Got::kTooLong) {
      send(ErrorReply(nullptr, {kParseError,
                                absl::StrCat("a line may have at most ",
                                             kMaxRpcBytes, " bytes"),
                                nullptr}));
      continue;
    }
    if (absl::StripAsciiWhitespace(line).empty()) continue;
    ServeMessage(protocol, ParseRpcMessage(line), calls, send);
  }
}

}  // namespace sandglass::client
