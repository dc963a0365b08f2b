#include "gateway/connect/unary.h"

#include <memory>
#include <utility>

#include "gateway/connect/gzip.h"
#include "server/base/errors.h"

namespace sandglass::gateway {

absl::StatusOr<std::string> RequestMessage(const CallHead& call,
                                           std::string_view message,
                                           const JsonBounds& bounds) {
  if (message.size() > bounds.bytes) {
    return server::MessageTooLarge(message.size(), bounds.bytes);
  }
  if (call.wire.codec == Codec::kProto) return std::string(message);
  const auto read = ReadJson(message, *call.method->request, bounds);
  if (!read.ok()) return read.status();
  return (*read)->SerializeAsString();
}

absl::StatusOr<std::string> AnswerMessage(const CallHead& call,
                                          std::string_view message) {
  if (call.wire.codec == Codec::kProto) return std::string(message);
  return WriteJson(message, *call.method->response, call.texts);
}

absl::StatusOr<std::string> UnaryRequest(const CallHead& call,
                                         std::string_view body,
                                         const JsonBounds& bounds) {
  const std::string_view message =
      call.query_message.has_value() ? *call.query_message : body;
  if (!call.gzip) return RequestMessage(call, message, bounds);
  const absl::StatusOr<std::string> content = Gunzip(message, bounds.bytes);
  if (!content.ok()) return content.status();
  return RequestMessage(call, *content, bounds);
}

HttpAnswer UnaryAnswer(const CallHead& call, std::string_view message,
                       const HeaderFields& initial,
                       const HeaderFields& trailing) {
  absl::StatusOr<std::string> body = AnswerMessage(call, message);
  if (!body.ok()) {
    return UnaryError(ToCallStatus(body.status()), initial, trailing);
  }
  HttpAnswer answer = StreamBegin(call.wire, initial);
  answer.body = *std::move(body);
  for (HeaderField& field : AnswerHeaders(trailing, "trailer-")) {
    answer.headers.push_back(std::move(field));
  }
  return answer;
}

}  // namespace sandglass::gateway
