// What HTTP's clients send the gateway: the head of a request, and a body in
// whatever pieces it comes. The first byte says which method and form it is,
// the second how long the pieces are, which makes no difference. Then a
// header's name, its value and a query, each behind its length, and the body.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gateway/connect/json_codec.h"
#include "gateway/connect/stream.h"
#include "gateway/connect/unary.h"
#include "google/protobuf/util/message_differencer.h"
#include "tests/fuzz/fuzz.h"

namespace sandglass::gateway {
namespace {

constexpr JsonBounds kBounds = {.bytes = 4096, .depth = 8, .values = 500};

struct Form {
  const char* method;
  const char* path;
  const char* type;
};
constexpr std::array<Form, 10> kForms = {{
    {"POST", "/sandglass.v1.SandboxService/RunCode", "application/json"},
    {"POST", "/sandglass.v1.SandboxService/RunCode", "application/proto"},
    {"GET", "/sandglass.v1.SandboxService/ListRuns", ""},
    {"POST", "/sandglass.v1.SandboxService/StreamRunCode",
     "application/connect+json"},
    {"POST", "/sandglass.v1.ExecService/Execute", "application/connect+json"},
    {"POST", "/sandglass.v1.FileService/WriteFile",
     "application/connect+proto"},
    {"POST", "/sandglass.v1.SandboxService/RunCode", "application/grpc-web"},
    {"POST", "/sandglass.v1.ExecService/Execute", "application/grpc-web-text"},
    {"POST", "/sandglass.v1.PolicyService/ListApprovals", "application/json"},
    {"POST", "/sandglass.v1.SessionService/CreateSession", "application/json"},
}};

void CheckHeaders(const HeaderFields& headers) {
  for (const HeaderField& field : headers) {
    FUZZ_CHECK(!field.name.empty());
    for (const std::string& text : {field.name, field.value}) {
      FUZZ_CHECK(text.find_first_of(std::string_view("\r\n\0", 3)) ==
                 std::string::npos);
    }
  }
}

void CheckRefusal(const absl::Status& status) {
  FUZZ_CHECK(absl::IsInvalidArgument(status) ||
             absl::IsResourceExhausted(status) ||
             absl::IsUnimplemented(status));
  FUZZ_CHECK(!status.message().empty() && status.message().size() < 1000);
  CheckHeaders(Refusal({}, ToCallStatus(status)).headers);
}

// A message that JSON gave is written and read back the same.
void CheckMessage(const CallHead& call, const std::string& message) {
  if (call.wire.codec != Codec::kJson) return;
  const auto& type = *call.method->request;
  const auto read = NewMessage(type);
  FUZZ_CHECK(read->ParseFromString(message));
  const auto json = WriteJson(message, type, false);
  FUZZ_CHECK(json.ok());
  const auto again = ReadJson(*json, type);
  FUZZ_CHECK(again.ok());
  FUZZ_CHECK((*again)->SerializeAsString().size() == message.size());
  FUZZ_CHECK(
      google::protobuf::util::MessageDifferencer::Equals(**again, *read));
}

void ReadUnary(const CallHead& call, std::string_view body) {
  const auto message = UnaryRequest(call, body, kBounds);
  if (message.ok()) {
    CheckMessage(call, *message);
  } else {
    CheckRefusal(message.status());
  }
}

absl::Status ReadStream(const CallHead& call, std::string_view body,
                        size_t piece, std::vector<std::string>& messages) {
  StreamReader reader(call, kBounds);
  while (!body.empty()) {
    const absl::Status fed = reader.Feed(body.substr(0, piece), messages);
    if (!fed.ok()) return fed;
    body.remove_prefix(std::min(piece, body.size()));
  }
  return reader.Finish();
}

void ReadStreams(const CallHead& call, std::string_view body, size_t piece) {
  std::vector<std::string> cut;
  std::vector<std::string> whole;
  const absl::Status end = ReadStream(call, body, piece, cut);
  const absl::Status same =
      ReadStream(call, body, std::string_view::npos, whole);
  FUZZ_CHECK(end.ok() == same.ok());
  if (!end.ok()) {
    CheckRefusal(end);
    // Base64 that is bad further on is seen before what stands before it.
    if (call.wire.protocol == Protocol::kGrpcWebText) return;
  }
  FUZZ_CHECK(cut == whole);
  for (const std::string& message : cut) CheckMessage(call, message);
}

void Run(fuzz::Input input) {
  const Form& form = kForms[input.Byte() % kForms.size()];
  const size_t piece = 1 + input.Byte() % 16;
  const HeaderField field = {input.Text(), input.Text()};
  HttpHead head;
  head.method = form.method;
  head.path = form.path;
  head.headers = {{"content-type", form.type}, field};
  head.query = input.Text();
  const auto read = ReadCallHead(head);
  if (const auto* answer = std::get_if<HttpAnswer>(&read)) {
    FUZZ_CHECK(answer->status >= 400 ||
               (answer->status == 200 && !answer->body.empty()));
    CheckHeaders(answer->headers);
    return;
  }
  const CallHead& call = std::get<CallHead>(read);
  CheckHeaders(AnswerHeaders({field}));
  if (call.wire.protocol == Protocol::kConnectUnary) {
    ReadUnary(call, input.Rest());
  } else {
    ReadStreams(call, input.Rest(), piece);
  }
}

}  // namespace
}  // namespace sandglass::gateway

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sandglass::gateway::Run({data, size});
  return 0;
}
