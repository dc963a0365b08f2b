#ifndef SANDGLASS_CLIENT_MCP_JSON_RPC_H_
#define SANDGLASS_CLIENT_MCP_JSON_RPC_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

// JSON-RPC 2.0 in the way in which the Model Context Protocol uses it.
namespace sandglass::client {

using Json = nlohmann::json;

constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;
constexpr int kServerBusy = -32603;
constexpr int kHeaderMismatch = -32020;
constexpr int kUnsupportedVersion = -32022;

// The limits of a message.
constexpr size_t kMaxRpcBytes = 8 << 20;
constexpr int kMaxRpcDepth = 64;
constexpr size_t kMaxBatch = 64;  // messages

struct RpcError {
  int code = 0;
  std::string message;
  Json data;  // null: none
};

// A received message.
struct RpcMessage {
  enum class Kind { kRequest, kNotification, kResponse, kBad, kBatch };
  Kind kind = Kind::kBad;
  Json id;  // a string or an integer; null: none
  std::string method;
  Json params = Json::object();
  // For a kBad message: its error. It is answered, with `id`, unless it might
  // be a notification.
  RpcError error;
  bool owed_reply = false;
  // The messages of a kBatch, none of which is one itself. The revision
  // 2025-03-26 has them.
  std::vector<RpcMessage> batch;
};

// Reads one message, or one batch. kBad for a text that isn't JSON, isn't a
// message, is an empty batch or one of too many, or is too long or too deep.
RpcMessage ParseRpcMessage(absl::string_view text);

Json ResultReply(const Json& id, Json result);
Json ErrorReply(const Json& id, const RpcError& error);

// The message on one line, without a line end. What isn't UTF-8 in it is
// replaced.
std::string RpcText(const Json& message);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_MCP_JSON_RPC_H_
