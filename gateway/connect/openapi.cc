#include "gateway/connect/openapi.h"

#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gateway/connect/codes.h"
#include "gateway/connect/json_codec.h"
#include "gateway/connect/methods.h"
#include "gateway/connect/openapi_comments.h"
#include "gateway/connect/openapi_schemas.h"
#include "nlohmann/json.hpp"
#include "policy/text/views.h"
#include "sandglass/v1/run.pb.h"
#include "server/base/version.h"

namespace sandglass::gateway {
namespace {

using google::protobuf::MethodDescriptor;
using nlohmann::ordered_json;
using policy::AbslView;

constexpr char kAbout[] =
    "Runs programs in sealed jails. Every method is called by POST with JSON, "
    "as "
    "the Connect protocol has it (https://connectrpc.com/docs/protocol); bytes "
    "are base64, whole numbers of 64 bits are strings, durations are seconds "
    "such as \"1.5s\". How a program ended is in the answer and never an "
    "error.";

constexpr char kStreamed[] =
    "The body is a sequence of messages, each behind a byte of flags and its "
    "length in four bytes, the high one first; the last one of an answer has "
    "the flag 2 and tells how the call ended. Each other is a JSON object of "
    "the "
    "schema that x-message names.";

constexpr char kTextsParameter[] =
    "1: bytes that are UTF-8 are in the answer as text, too, in the fields "
    "that "
    "the schemas have for it (text, pathText).";

ordered_json Reference(std::string_view place) {
  return {{"$ref", absl::StrCat("#/components/", AbslView(place))}};
}

ordered_json Example(const google::protobuf::Message& message) {
  const auto text = WriteJson(message.SerializeAsString(),
                              *message.GetDescriptor(), /*texts=*/false);
  return text.ok() ? ordered_json::parse(*text, nullptr, false)
                   : ordered_json();
}

ordered_json RequestExample() {
  v1::RunCodeRequest request;
  request.set_language("python");
  request.set_code("print(6 * 7)");
  request.mutable_limits()->mutable_wall_time()->set_seconds(5);
  return Example(request);
}

ordered_json AnswerExample() {
  constexpr char kPrinted[] = "42\n";
  v1::RunCodeResponse response;
  response.set_run_id("run-1");
  response.set_outcome(v1::OUTCOME_OK);
  response.set_exit_code(0);
  response.mutable_stdout()->set_data(kPrinted);
  response.mutable_stdout()->set_total_bytes(sizeof(kPrinted) - 1);
  response.set_language("python");
  response.set_profile("default");
  return Example(response);
}

// The body of a request or an answer with this message.
ordered_json Content(const google::protobuf::Descriptor& message, bool unary) {
  if (!unary) {
    ordered_json schema = {{"type", "string"},
                           {"contentMediaType", "application/octet-stream"},
                           {"description", kStreamed}};
    schema["x-message"] = SchemaSet::RefTo(message.full_name())["$ref"];
    return {{"application/connect+json", {{"schema", std::move(schema)}}}};
  }
  ordered_json json = {{"schema", SchemaSet::RefTo(message.full_name())}};
  if (message.full_name() == v1::RunCodeRequest::descriptor()->full_name()) {
    json["example"] = RequestExample();
  }
  if (message.full_name() == v1::RunCodeResponse::descriptor()->full_name()) {
    json["example"] = AnswerExample();
  }
  return {{"application/json", std::move(json)}};
}

ordered_json Answers(const Method& method, const MethodDescriptor& descriptor) {
  ordered_json answers;
  answers["200"] = {
      {"description", method.unary() ? "The answer."
                                     : "The stream of answers; an error of the "
                                       "call is at its end."},
      {"content", Content(*descriptor.output_type(), method.unary())}};
  answers["default"] = Reference("responses/Error");
  return answers;
}

ordered_json Operation(const MethodDescriptor& descriptor, const char* verb) {
  const std::string& service = descriptor.service()->name();
  ordered_json operation = {
      {"operationId", absl::StrCat(service, "_", descriptor.name(), verb)},
      {"tags", {service}},
      {"summary", descriptor.name()},
      {"description", CommentOf(descriptor)},
      {"parameters",
       {Reference("parameters/Timeout"), Reference("parameters/Version"),
        Reference("parameters/Texts")}}};
  return operation;
}

ordered_json Post(const Method& method, const MethodDescriptor& descriptor) {
  ordered_json post = Operation(descriptor, "");
  post["requestBody"] = {
      {"required", true},
      {"content", Content(*descriptor.input_type(), method.unary())}};
  post["responses"] = Answers(method, descriptor);
  return post;
}

ordered_json Get(const Method& method, const MethodDescriptor& descriptor) {
  ordered_json get = Operation(descriptor, "_Get");
  get["parameters"].push_back(
      {{"name", "message"},
       {"in", "query"},
       {"required", true},
       {"description", "The request."},
       {"content", Content(*descriptor.input_type(), true)}});
  get["parameters"].push_back({{"name", "encoding"},
                               {"in", "query"},
                               {"required", true},
                               {"schema", {{"const", "json"}}}});
  get["responses"] = Answers(method, descriptor);
  return get;
}

ordered_json Header(const char* name, const char* description,
                    ordered_json schema) {
  return {{"name", name},
          {"in", "header"},
          {"description", description},
          {"schema", std::move(schema)}};
}

ordered_json Parameters() {
  ordered_json parameters;
  parameters["Timeout"] =
      Header("Connect-Timeout-Ms",
             "Milliseconds after which the caller wants no answer any more.",
             {{"type", "string"}, {"pattern", "^[0-9]{1,10}$"}});
  parameters["Version"] =
      Header("Connect-Protocol-Version", "May be left out.", {{"const", "1"}});
  parameters["Texts"] =
      Header("Sandglass-Text", kTextsParameter,
             {{"type", "string"}, {"enum", {"0", "1"}}, {"default", "0"}});
  return parameters;
}

ordered_json ErrorSchema() {
  ordered_json codes = ordered_json::array();
  constexpr int kLastCode = 16;
  for (int code = 1; code <= kLastCode; ++code) codes.push_back(CodeName(code));
  const ordered_json detail = {
      {"type", "object"},
      {"required", {"type", "value"}},
      {"properties",
       {{"type", {{"type", "string"}, {"examples", {"google.rpc.ErrorInfo"}}}},
        {"value",
         {{"type", "string"},
          {"contentEncoding", "base64"},
          {"description",
           "The message in protobuf's binary form, without "
           "padding."}}},
        {"debug", {{"description", "The same as JSON, for people."}}}}}};
  return {{"type", "object"},
          {"required", {"code"}},
          {"properties",
           {{"code", {{"type", "string"}, {"enum", codes}}},
            {"message", {{"type", "string"}}},
            {"details",
             {{"type", "array"},
              {"items", detail},
              {"description",
               "google.rpc.ErrorInfo with a stable reason in each, BadRequest "
               "with the places that are wrong, RetryInfo, QuotaFailure."}}}}}};
}

ordered_json ErrorResponse() {
  ordered_json example = {{"code", "invalid_argument"},
                          {"message", "limits.wallTime: expected a duration"}};
  return {{"description", "An error of the request or of the daemon."},
          {"headers",
           {{"Retry-After",
             {{"description", "Seconds after which to try again."},
              {"schema", {{"type", "integer"}, {"minimum", 0}}}}}}},
          {"content",
           {{"application/json",
             {{"schema", SchemaSet::RefTo("connect.Error")},
              {"example", std::move(example)}}}}}};
}

ordered_json Tags() {
  ordered_json tags = ordered_json::array();
  const google::protobuf::ServiceDescriptor* last = nullptr;
  for (const Method& method : ApiMethods()) {
    const auto* const service = method.descriptor->service();
    if (service == last) continue;
    last = service;
    tags.push_back(
        {{"name", service->name()},
         {"description", CommentOf(*CommentedPool().FindServiceByName(
                             service->full_name()))}});
  }
  return tags;
}

}  // namespace

std::string MakeOpenApi() {
  SchemaSet schemas;
  ordered_json paths;
  for (const Method& method : ApiMethods()) {
    // The build makes this and ApiMethods() from the same files.
    const MethodDescriptor& descriptor =
        *CommentedPool().FindMethodByName(method.descriptor->full_name());
    schemas.AddRequest(*descriptor.input_type());
    schemas.AddAnswer(*descriptor.output_type());
    ordered_json& path = paths[method.path];
    path["post"] = Post(method, descriptor);
    if (method.no_side_effects) path["get"] = Get(method, descriptor);
  }
  ordered_json components;
  components["schemas"] = schemas.Schemas();
  components["schemas"]["connect.Error"] = ErrorSchema();
  components["responses"]["Error"] = ErrorResponse();
  components["parameters"] = Parameters();
  components["securitySchemes"]["bearer"] = {
      {"type", "http"},
      {"scheme", "bearer"},
      {"description", "A token of `sandglass token create`, or a JWT."}};
  const ordered_json document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "Sandglass"},
        {"version", std::string(server::kVersion)},
        {"description", kAbout},
        {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
      {"security", ordered_json::array({{{"bearer", ordered_json::array()}}})},
      {"tags", Tags()},
      {"paths", std::move(paths)},
      {"components", std::move(components)}};
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace sandglass::gateway
