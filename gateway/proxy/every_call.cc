#include "gateway/proxy/every_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "gateway/proxy/call_metadata.h"
#include "gateway/proxy/gateway_errors.h"
#include "google/protobuf/descriptor.h"
#include "grpcpp/generic/generic_stub.h"
#include "nlohmann/json.hpp"
#include "server/base/errors.h"
#include "server/edge/grpc_status.h"
#include "server/edge/message_codec.h"

namespace sandglass::gateway {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr size_t kMaxTokenBytes = 64 << 10;
// What a list has without a page_size, see ListRunsRequest.
constexpr int kUsualPage = 100;

std::unique_ptr<Message> NewMessage(const Descriptor* type) {
  return std::unique_ptr<Message>(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(type)
          ->New());
}

// Null: it has no such field of text.
const FieldDescriptor* TextField(const Message& message, const char* name) {
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(name);
  return field != nullptr && field->type() == FieldDescriptor::TYPE_STRING
             ? field
             : nullptr;
}

std::string TakeText(Message& message, const char* name) {
  const FieldDescriptor* field = TextField(message, name);
  if (field == nullptr) return "";
  std::string text = message.GetReflection()->GetString(message, field);
  message.GetReflection()->ClearField(&message, field);
  return text;
}

// Gives each of so many nodes a part of the page.
void SharePage(size_t nodes, Message& request) {
  const FieldDescriptor* field =
      request.GetDescriptor()->FindFieldByName("page_size");
  if (field == nullptr || field->type() != FieldDescriptor::TYPE_INT32) return;
  const google::protobuf::Reflection& reflection = *request.GetReflection();
  const int size = reflection.GetInt32(request, field);
  if (size < 0) return;  // the nodes say what is wrong
  const int whole = size == 0 ? kUsualPage : size;
  const int count = static_cast<int>(nodes);
  reflection.SetInt32(&request, field, (whole + count - 1) / count);
}

grpc::Status NoAnswer(const std::string& node) {
  return {grpc::StatusCode::INTERNAL,
          absl::StrCat("what node ", node, " answered is no such message")};
}

}  // namespace

std::string JoinTokens(const NodeTokens& tokens) {
  if (tokens.empty()) return "";
  return absl::WebSafeBase64Escape(nlohmann::json(tokens).dump());
}

std::optional<NodeTokens> SplitTokens(std::string_view text) {
  std::string json;
  if (text.size() > kMaxTokenBytes ||
      !absl::WebSafeBase64Unescape({text.data(), text.size()}, &json)) {
    return std::nullopt;
  }
  const nlohmann::json parsed =
      nlohmann::json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object() || parsed.empty()) return std::nullopt;
  NodeTokens tokens;
  for (const auto& [node, token] : parsed.items()) {
    if (!token.is_string()) return std::nullopt;
    tokens[node] = token.get<std::string>();
  }
  return tokens;
}

EveryCall::EveryCall(Router& router, CallRecorder& recorder,
                     server::AnswerRoom& answers, const MethodRoute& route,
                     server::Identity caller,
                     grpc::GenericCallbackServerContext* context)
    : router_(router),
      route_(route),
      caller_(std::move(caller)),
      context_(context),
      record_(recorder, route_, caller_, *context),
      held_(answers) {
  StartRead(&request_);
}

void EveryCall::OnReadDone(bool ok) {
  if (!ok) return Fail(grpc::Status::CANCELLED);
  if (const absl::Status made = MakeParts(); !made.ok()) {
    return Fail(server::ToGrpcStatus(made));
  }
  Start();
}

absl::Status EveryCall::MakeParts() {
  const std::unique_ptr<Message> request =
      NewMessage(route_.method->input_type());
  if (absl::Status parsed = server::ParseMessage(request_, *request);
      !parsed.ok()) {
    return parsed;
  }
  const std::string token = TakeText(*request, "page_token");
  std::optional<NodeTokens> tokens;
  if (!token.empty()) {
    tokens = SplitTokens(token);
    if (!tokens.has_value()) {
      return server::InvalidRequest(
          {{"page_token", "is none that this list has given"}});
    }
  }
  std::vector<std::unique_ptr<Visit>> nodes = router_.All();
  if (tokens.has_value()) {
    std::erase_if(nodes, [&tokens](const auto& visit) {
      return !tokens->contains(visit->node());
    });
  }
  if (nodes.empty()) return NoNodes();
  SharePage(nodes.size(), *request);
  for (std::unique_ptr<Visit>& visit : nodes) {
    if (tokens.has_value()) {
      request->GetReflection()->SetString(request.get(),
                                          TextField(*request, "page_token"),
                                          tokens->at(visit->node()));
    }
    absl::StatusOr<grpc::ByteBuffer> bytes = server::SerializeMessage(*request);
    if (!bytes.ok()) return bytes.status();
    auto part = std::make_unique<Part>();
    part->visit = std::move(visit);
    part->request = *std::move(bytes);
    PrepareContext(*context_, caller_, part->context);
    parts_.push_back(std::move(part));
  }
  return absl::OkStatus();
}

void EveryCall::Fail(const grpc::Status& status) {
  record_.End(status, "", static_cast<int>(parts_.size()));
  Finish(status);
}

void EveryCall::Start() {
  bool cancelled = false;
  {
    absl::MutexLock lock(&mutex_);
    pending_ = parts_.size();
    cancelled = cancelled_;
  }
  // The last of them to end may delete this object.
  std::vector<Part*> parts;
  for (const auto& part : parts_) parts.push_back(part.get());
  const std::string method = context_->method();
  for (Part* part : parts) {
    if (cancelled) part->context.TryCancel();
    grpc::GenericStub stub(part->visit->channel());
    stub.UnaryCall(&part->context, method, {}, &part->request, &part->response,
                   [this, part](grpc::Status status) {
                     part->status = std::move(status);
                     EndPart();
                   });
  }
}

void EveryCall::OnCancel() {
  absl::MutexLock lock(&mutex_);
  cancelled_ = true;
  if (pending_ == 0) return;
  for (const auto& part : parts_) part->context.TryCancel();
}

void EveryCall::EndPart() {
  {
    absl::MutexLock lock(&mutex_);
    if (--pending_ > 0) return;
  }
  Answer();
}

void EveryCall::Answer() {
  const std::unique_ptr<Message> answer =
      NewMessage(route_.method->output_type());
  NodeTokens tokens;
  bool answered = false;
  grpc::Status failed;
  for (const auto& part : parts_) {
    const std::unique_ptr<Message> own =
        NewMessage(route_.method->output_type());
    if (!part->status.ok() ||
        !server::ParseMessage(part->response, *own).ok()) {
      // What isn't on one node may be on another.
      if (part->status.error_code() != grpc::StatusCode::NOT_FOUND) {
        context_->AddTrailingMetadata(kMissingNodes, part->visit->node());
        failed =
            part->status.ok() ? NoAnswer(part->visit->node()) : part->status;
      } else if (failed.ok()) {
        failed = part->status;
      }
      continue;
    }
    answered = true;
    if (std::string token = TakeText(*own, "next_page_token"); !token.empty()) {
      tokens[part->visit->node()] = std::move(token);
    }
    answer->MergeFrom(*own);
  }
  if (!answered) return Fail(failed);
  if (const FieldDescriptor* field = TextField(*answer, "next_page_token")) {
    answer->GetReflection()->SetString(answer.get(), field, JoinTokens(tokens));
  }
  if (const absl::Status put = held_.Put(
          caller_.name, server::SerializeMessage(*answer), &response_);
      !put.ok()) {
    return Fail(server::ToGrpcStatus(put));
  }
  record_.End(grpc::Status::OK, "", static_cast<int>(parts_.size()));
  StartWriteAndFinish(&response_, grpc::WriteOptions(), grpc::Status::OK);
}

}  // namespace sandglass::gateway
