#include "gateway/connect/call_head.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gateway/connect/base64.h"
#include "gateway/connect/connect_errors.h"
#include "gateway/connect/query.h"
#include "policy/text/quoted.h"
#include "policy/text/utf8.h"
#include "policy/text/views.h"

namespace sandglass::gateway {
namespace {

using policy::AbslView;
using policy::Quoted;

constexpr int kNotFound = 404;
constexpr int kNotAllowed = 405;
constexpr int kUnsupportedType = 415;

constexpr char kTexts[] = "sandglass-text";

struct ContentType {
  std::string_view name;
  Wire wire;
};
constexpr std::array<ContentType, 8> kContentTypes = {{
    {"application/json", {Protocol::kConnectUnary, Codec::kJson}},
    {"application/proto", {Protocol::kConnectUnary, Codec::kProto}},
    {"application/connect+json", {Protocol::kConnectStream, Codec::kJson}},
    {"application/connect+proto", {Protocol::kConnectStream, Codec::kProto}},
    {"application/grpc-web", {Protocol::kGrpcWeb, Codec::kProto}},
    {"application/grpc-web+proto", {Protocol::kGrpcWeb, Codec::kProto}},
    {"application/grpc-web-text", {Protocol::kGrpcWebText, Codec::kProto}},
    {"application/grpc-web-text+proto",
     {Protocol::kGrpcWebText, Codec::kProto}},
}};

bool Fits(const Method& method, Protocol protocol) {
  if (protocol == Protocol::kConnectUnary) return method.unary();
  if (protocol == Protocol::kConnectStream) return !method.unary();
  return true;
}

// "application/json; charset=utf-8" is "application/json"; with any other
// parameter it is as it was, which is no type that there is.
std::string WithoutCharset(std::string_view value) {
  std::string small =
      absl::AsciiStrToLower(absl::StripAsciiWhitespace(AbslView(value)));
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(small, absl::MaxSplits(';', 1));
  const absl::string_view parameter = absl::StripAsciiWhitespace(parts.second);
  if (parameter == "charset=utf-8" || parameter == "charset=\"utf-8\"") {
    return std::string(absl::StripTrailingAsciiWhitespace(parts.first));
  }
  return small;
}

HttpAnswer UnsupportedType(const Method& method, const std::string& type) {
  std::string types;
  for (const ContentType& known : kContentTypes) {
    if (!Fits(method, known.wire.protocol)) continue;
    absl::StrAppend(&types, types.empty() ? "" : ", ", AbslView(known.name));
  }
  HttpAnswer answer =
      PlainAnswer(kUnsupportedType,
                  absl::StrCat(method.path, " can't take the content type ",
                               Quoted(type), "; it takes ", types));
  answer.headers.push_back({"accept-post", types});
  return answer;
}

HttpAnswer NotAllowed(const Method& method, const std::string& used) {
  const char* const allowed = method.no_side_effects ? "GET, POST" : "POST";
  HttpAnswer answer =
      PlainAnswer(kNotAllowed, absl::StrCat(method.path, " can't be called by ",
                                            Quoted(used), "; send ", allowed));
  answer.headers.push_back({"allow", allowed});
  return answer;
}

// Digits alone, so many at most.
absl::StatusOr<int64_t> Digits(std::string_view name, std::string_view text,
                               size_t most) {
  int64_t number = 0;
  if (text.empty() || text.size() > most ||
      text.find_first_not_of("0123456789") != std::string_view::npos ||
      !absl::SimpleAtoi(AbslView(text), &number)) {
    return BadHeader(name, absl::StrCat("is to be a whole number of at most ",
                                        most, " digits"));
  }
  return number;
}

absl::StatusOr<absl::Duration> ConnectTimeout(std::string_view name,
                                              std::string_view text) {
  constexpr size_t kMostDigits = 10;
  const absl::StatusOr<int64_t> number = Digits(name, text, kMostDigits);
  if (!number.ok()) return number.status();
  return absl::Milliseconds(*number);
}

absl::StatusOr<absl::Duration> GrpcTimeout(std::string_view name,
                                           std::string_view text) {
  constexpr size_t kMostDigits = 8;
  static constexpr std::string_view kUnits = "HMSmun";
  const size_t unit =
      text.empty() ? std::string_view::npos : kUnits.find(text.back());
  if (unit == std::string_view::npos) {
    return BadHeader(name, "is to be digits and one of H, M, S, m, u, n");
  }
  text.remove_suffix(1);
  const absl::StatusOr<int64_t> number = Digits(name, text, kMostDigits);
  if (!number.ok()) return number.status();
  const std::array<absl::Duration, kUnits.size()> each = {
      absl::Hours(1),        absl::Minutes(1),      absl::Seconds(1),
      absl::Milliseconds(1), absl::Microseconds(1), absl::Nanoseconds(1)};
  // Nothing here runs for longer than Connect's timeout can say.
  return std::min(each[unit] * *number, absl::Hours(24 * 115));
}

absl::Status ReadTimeout(const HeaderFields& headers, CallHead& call) {
  const bool connect = call.wire.protocol == Protocol::kConnectUnary ||
                       call.wire.protocol == Protocol::kConnectStream;
  const char* const name = connect ? "connect-timeout-ms" : "grpc-timeout";
  const auto value = OnlyHeader(headers, name);
  if (!value.ok()) return value.status();
  if (!value->has_value()) return absl::OkStatus();
  const absl::StatusOr<absl::Duration> timeout =
      connect ? ConnectTimeout(name, **value) : GrpcTimeout(name, **value);
  if (!timeout.ok()) return timeout.status();
  call.timeout = *timeout;
  return absl::OkStatus();
}

// The header by which a protocol says how messages are compressed.
const char* EncodingHeader(Protocol protocol) {
  if (protocol == Protocol::kConnectUnary) return "content-encoding";
  if (protocol == Protocol::kConnectStream) return "connect-content-encoding";
  return "grpc-encoding";
}

absl::Status ReadEncodings(const HeaderFields& headers, CallHead& call) {
  const std::string_view own = EncodingHeader(call.wire.protocol);
  for (const char* name :
       {"content-encoding", "connect-content-encoding", "grpc-encoding"}) {
    const auto value = OnlyHeader(headers, name);
    if (!value.ok()) return value.status();
    if (!value->has_value() ||
        absl::EqualsIgnoreCase(AbslView(**value), "identity")) {
      continue;
    }
    if (name != own || !absl::EqualsIgnoreCase(AbslView(**value), "gzip")) {
      return UnsupportedEncoding(name, **value);
    }
    call.gzip = true;
  }
  return absl::OkStatus();
}

absl::Status CheckVersion(const HeaderFields& headers) {
  constexpr char kName[] = "connect-protocol-version";
  const auto value = OnlyHeader(headers, kName);
  if (!value.ok()) return value.status();
  if (!value->has_value() || **value == "1") return absl::OkStatus();
  return BadHeader(kName, absl::StrCat("is to be 1, not ", Quoted(**value)));
}

absl::Status ReadTexts(const HeaderFields& headers, CallHead& call) {
  const auto value = OnlyHeader(headers, kTexts);
  if (!value.ok()) return value.status();
  if (!value->has_value()) return absl::OkStatus();
  if (**value != "0" && **value != "1") {
    return BadHeader(kTexts, "is to be 0 or 1");
  }
  call.texts = **value == "1";
  return absl::OkStatus();
}

using Parameters = std::map<std::string, std::string>;

std::string Find(const Parameters& parameters, const std::string& name) {
  const auto found = parameters.find(name);
  return found == parameters.end() ? "" : found->second;
}

// The message of a GET, and what its query says besides.
absl::Status ReadGet(const Parameters& parameters, CallHead& call) {
  const std::string version = Find(parameters, "connect");
  if (!version.empty() && version != "v1") {
    return BadQuery("connect", "is to be v1");
  }
  const std::string compression = Find(parameters, "compression");
  call.gzip = compression == "gzip";
  if (!compression.empty() && compression != "identity" && !call.gzip) {
    return UnsupportedEncoding("compression", compression);
  }
  if (parameters.count("message") == 0) {
    return BadQuery("message", "isn't there; it holds the request");
  }
  std::string message = Find(parameters, "message");
  if (Find(parameters, "base64") == "1") {
    std::optional<std::string> bytes = DecodeBase64(message);
    if (!bytes.has_value()) return BadQuery("message", "is not base64");
    message = *std::move(bytes);
  } else if (!policy::IsValidUtf8(message)) {
    return BadQuery("message", "is not UTF-8; send bytes with base64=1");
  }
  call.query_message = std::move(message);
  return absl::OkStatus();
}

// "text=1", for whoever can't send headers, of any request.
absl::Status ReadTextParameter(const Parameters& parameters, CallHead& call) {
  const std::string value = Find(parameters, "text");
  if (value.empty()) return absl::OkStatus();
  if (value != "0" && value != "1") return BadQuery("text", "is to be 0 or 1");
  call.texts = value == "1";
  return absl::OkStatus();
}

absl::Status ReadRest(const HttpHead& head, CallHead& call, bool get) {
  for (const absl::Status& status :
       {CheckVersion(head.headers), ReadEncodings(head.headers, call),
        ReadTimeout(head.headers, call), ReadTexts(head.headers, call)}) {
    if (!status.ok()) return status;
  }
  const absl::StatusOr<Parameters> parameters = ReadQuery(head.query);
  if (!parameters.ok()) return parameters.status();
  if (absl::Status text = ReadTextParameter(*parameters, call); !text.ok()) {
    return text;
  }
  if (get) {
    if (absl::Status read = ReadGet(*parameters, call); !read.ok()) return read;
  }
  absl::StatusOr<HeaderFields> metadata = RequestMetadata(head.headers);
  if (!metadata.ok()) return metadata.status();
  call.metadata = *std::move(metadata);
  return absl::OkStatus();
}

// The type of the message, which a GET's query has as "encoding".
std::string TypeOf(const HttpHead& head, bool get) {
  if (get) {
    // What else is wrong with the query is said later, by ReadRest.
    for (const absl::string_view part : absl::StrSplit(head.query, '&')) {
      if (absl::StartsWith(part, "encoding=")) {
        return absl::StrCat("application/", part.substr(part.find('=') + 1));
      }
    }
    return "";
  }
  const auto type = OnlyHeader(head.headers, "content-type");
  return type.ok() && type->has_value() ? WithoutCharset(**type) : "";
}

}  // namespace

std::variant<CallHead, HttpAnswer> ReadCallHead(const HttpHead& head) {
  CallHead call;
  call.method = FindMethod(head.path);
  if (call.method == nullptr) {
    return PlainAnswer(kNotFound,
                       absl::StrCat("There is no method ", Quoted(head.path),
                                    "; one is /sandglass.v1.SandboxService/"
                                    "RunCode."));
  }
  const bool get = head.method == "GET" && call.method->no_side_effects;
  if (!get && head.method != "POST") {
    return NotAllowed(*call.method, head.method);
  }
  const std::string type = TypeOf(head, get);
  const ContentType* found = nullptr;
  for (const ContentType& known : kContentTypes) {
    if (known.name == type) found = &known;
  }
  if (found == nullptr || !Fits(*call.method, found->wire.protocol) ||
      (get && found->wire.protocol != Protocol::kConnectUnary)) {
    return UnsupportedType(*call.method, type);
  }
  call.wire = found->wire;
  if (absl::Status rest = ReadRest(head, call, get); !rest.ok()) {
    return Refusal(call.wire, ToCallStatus(rest));
  }
  return call;
}

}  // namespace sandglass::gateway
