#include "client/mcp/stdio_server.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/mcp/json_rpc.h"
#include "client/mcp/line_io.h"
#include "client/mcp/tool_calls.h"

namespace sandglass::client {

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
    Handled handled = protocol.Handle(ParseRpcMessage(line));
    if (!handled.reply.is_null()) send(handled.reply);
    if (!handled.cancel.is_null()) calls.Cancel(handled.cancel);
    if (handled.run) calls.Start(*std::move(handled.run));
  }
}

}  // namespace sandglass::client
