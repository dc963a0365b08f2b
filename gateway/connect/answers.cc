#include "gateway/connect/answers.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/connect/envelope.h"
#include "gateway/connect/error_json.h"
#include "gateway/connect/grpc_web.h"

namespace sandglass::gateway {
namespace {

constexpr int kUnauthorized = 401;

// Answers hold what programs printed, and are for one caller.
HeaderFields FirstHeaders(std::string_view content_type) {
  return {{"content-type", std::string(content_type)},
          {"cache-control", "no-store"}};
}

void Append(HeaderFields more, HeaderFields& headers) {
  for (HeaderField& field : more) headers.push_back(std::move(field));
}

}  // namespace

std::string_view ContentTypeOf(Wire wire) {
  const bool json = wire.codec == Codec::kJson;
  switch (wire.protocol) {
    case Protocol::kConnectUnary:
      return json ? "application/json" : "application/proto";
    case Protocol::kConnectStream:
      return json ? "application/connect+json" : "application/connect+proto";
    case Protocol::kGrpcWeb:
      return "application/grpc-web+proto";
    case Protocol::kGrpcWebText:
      return "application/grpc-web-text+proto";
  }
  return "";
}

HttpAnswer PlainAnswer(int status, std::string_view sentence) {
  return {.status = status,
          .headers = FirstHeaders("text/plain; charset=utf-8"),
          .body = std::string(sentence) + "\n"};
}

HttpAnswer UnaryError(const CallStatus& status, const HeaderFields& initial,
                      const HeaderFields& trailing) {
  HttpAnswer answer{.status = HttpStatusOf(status.code),
                    .headers = FirstHeaders("application/json"),
                    .body = ErrorJson(status)};
  if (const auto delay = RetryDelayOf(status)) {
    const int64_t seconds =
        absl::ToInt64Seconds(absl::Ceil(*delay, absl::Seconds(1)));
    answer.headers.push_back({"retry-after", absl::StrCat(seconds)});
  }
  if (answer.status == kUnauthorized) {
    answer.headers.push_back({"www-authenticate", "Bearer"});
  }
  Append(AnswerHeaders(initial), answer.headers);
  Append(AnswerHeaders(trailing, "trailer-"), answer.headers);
  return answer;
}

HttpAnswer StreamBegin(Wire wire, const HeaderFields& initial) {
  HttpAnswer answer{.headers = FirstHeaders(ContentTypeOf(wire))};
  Append(AnswerHeaders(initial), answer.headers);
  return answer;
}

std::string StreamEnd(Wire wire, const CallStatus& status,
                      const HeaderFields& trailing) {
  std::string end;
  if (wire.protocol == Protocol::kConnectStream) {
    AppendEnvelope(kConnectEndFlag, EndStreamJson(status, trailing), end);
    return end;
  }
  AppendEnvelope(kGrpcWebTrailersFlag, TrailersBlock(status, trailing), end);
  return wire.protocol == Protocol::kGrpcWebText ? WebText(end) : end;
}

HttpAnswer Refusal(Wire wire, const CallStatus& status) {
  if (wire.protocol == Protocol::kConnectUnary) {
    return UnaryError(status, {}, {});
  }
  HttpAnswer answer = StreamBegin(wire, {});
  answer.body = StreamEnd(wire, status, {});
  return answer;
}

}  // namespace sandglass::gateway
