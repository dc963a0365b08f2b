#include "client/mcp/json_rpc.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/base/json_depth.h"

namespace sandglass::client {
namespace {

RpcMessage Bad(int code, std::string words, bool owed_reply = true,
               Json id = nullptr) {
  RpcMessage message;
  message.id = std::move(id);
  message.error = {code, std::move(words), nullptr};
  message.owed_reply = owed_reply;
  return message;
}

// Reads a message that is no batch.
RpcMessage FromObject(Json& object) {
  if (!object.is_object()) {
    return Bad(kInvalidRequest, "a message must be a JSON object");
  }
  const auto id = object.find("id");
  const bool has_id = id != object.end();
  if (has_id && !id->is_string() && !id->is_number_integer()) {
    return Bad(kInvalidRequest, "id must be a string or an integer");
  }
  Json kept_id = has_id ? *id : Json();
  const auto version = object.find("jsonrpc");
  if (version == object.end() || *version != "2.0") {
    return Bad(kInvalidRequest, "jsonrpc must be \"2.0\"", has_id, kept_id);
  }
  RpcMessage message;
  message.id = std::move(kept_id);
  const auto method = object.find("method");
  if (method == object.end() &&
      (object.contains("result") || object.contains("error"))) {
    message.kind = RpcMessage::Kind::kResponse;
    return message;
  }
  if (method == object.end() || !method->is_string()) {
    return Bad(kInvalidRequest, "method must be a string", has_id, message.id);
  }
  message.method = method->get<std::string>();
  const auto params = object.find("params");
  if (params != object.end() && !params->is_null()) {
    if (!params->is_object()) {
      return Bad(kInvalidParams, "params must be an object", has_id,
                 message.id);
    }
    message.params = std::move(*params);
  }
  message.kind =
      has_id ? RpcMessage::Kind::kRequest : RpcMessage::Kind::kNotification;
  return message;
}

RpcMessage FromArray(Json& array) {
  if (array.empty()) return Bad(kInvalidRequest, "the batch is empty");
  if (array.size() > kMaxBatch) {
    return Bad(kInvalidRequest,
               absl::StrCat("the batch has ", array.size(),
                            " messages; at most ", kMaxBatch, " are allowed"));
  }
  RpcMessage message;
  message.kind = RpcMessage::Kind::kBatch;
  for (Json& part : array) message.batch.push_back(FromObject(part));
  return message;
}

}  // namespace

RpcMessage ParseRpcMessage(absl::string_view text) {
  if (text.size() > kMaxRpcBytes) {
    return Bad(kParseError, absl::StrCat("a message may have at most ",
                                         kMaxRpcBytes, " bytes"));
  }
  if (IsDeeperJson(text, kMaxRpcDepth)) {
    return Bad(kParseError, absl::StrCat("a message may be at most ",
                                         kMaxRpcDepth, " levels deep"));
  }
  Json parsed = Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                            /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return Bad(kParseError, "this is not JSON");
  return parsed.is_array() ? FromArray(parsed) : FromObject(parsed);
}

Json ResultReply(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json ErrorReply(const Json& id, const RpcError& error) {
  Json body = {{"code", error.code}, {"message", error.message}};
  if (!error.data.is_null()) body["data"] = error.data;
  return {{"jsonrpc", "2.0"}, {"id", id}, {"error", std::move(body)}};
}

std::string RpcText(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sandglass::client
