#include "tests/support/daemon/client.h"

#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/rpc/status.pb.h"

namespace sandglass::testing {
namespace {

std::chrono::system_clock::time_point Deadline(absl::Duration duration) {
  return absl::ToChronoTime(absl::Now() + duration);
}

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

std::string FromBuffer(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

// Waits for the one event that is under way on `queue`.
bool WaitForEvent(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  return queue.Next(&tag, &ok) && ok;
}

}  // namespace

std::string StreamResult::Data(v1::OutputStream stream) const {
  std::string data;
  for (const auto& event : events) {
    if (event.has_chunk() && event.chunk().stream() == stream) {
      data += event.chunk().data();
    }
  }
  return data;
}

const v1::RunCodeResponse* StreamResult::result() const {
  if (events.empty() || !events.back().has_result()) return nullptr;
  return &events.back().result();
}

ErrorDetails DetailsOf(const grpc::Status& status) {
  ErrorDetails details;
  google::rpc::Status rich;
  if (!rich.ParseFromString(status.error_details())) return details;
  for (const google::protobuf::Any& any : rich.details()) {
    google::rpc::BadRequest bad_request;
    google::rpc::ErrorInfo info;
    google::rpc::RetryInfo retry;
    if (any.UnpackTo(&bad_request)) {
      for (const auto& violation : bad_request.field_violations()) {
        details.fields[violation.field()] = violation.description();
      }
    } else if (any.UnpackTo(&info)) {
      details.reason = info.reason();
      details.domain = info.domain();
    } else if (any.UnpackTo(&retry)) {
      details.retry_delay = ToAbsl(retry.retry_delay());
    }
  }
  return details;
}

StreamCall::StreamCall(v1::SandboxService::Stub& stub,
                       const v1::RunCodeRequest& request,
                       absl::Duration deadline) {
  context_.set_deadline(Deadline(deadline));
  v1::StreamRunCodeRequest stream_request;
  *stream_request.mutable_run() = request;
  reader_ = stub.StreamRunCode(&context_, stream_request);
}

StreamCall::~StreamCall() {
  if (finished_) return;
  Cancel();
  Finish();
}

bool StreamCall::Next(v1::StreamRunCodeResponse* event) {
  if (!reader_->Read(event)) return false;
  if (event->has_started()) run_id_ = event->started().run_id();
  if (event->has_chunk() &&
      event->chunk().stream() == v1::OUTPUT_STREAM_STDOUT) {
    output_ += event->chunk().data();
  }
  if (event->has_result()) result_ = event->result();
  return true;
}

bool StreamCall::ReadUntil(std::string_view text) {
  v1::StreamRunCodeResponse event;
  while (output_.find(text) == std::string::npos) {
    if (!Next(&event)) return false;
  }
  return true;
}

grpc::Status StreamCall::Finish() {
  v1::StreamRunCodeResponse event;
  while (Next(&event)) {
  }
  finished_ = true;
  return reader_->Finish();
}

Client::Client(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  // Channels of a test must not share a connection: each is a client.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A restarted daemon should be found quickly.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  channel_ = grpc::CreateCustomChannel(
      address, grpc::InsecureChannelCredentials(), arguments);
  stub_ = v1::SandboxService::NewStub(channel_);
  sessions_ = v1::SessionService::NewStub(channel_);
  files_ = v1::FileService::NewStub(channel_);
  policy_ = v1::PolicyService::NewStub(channel_);
}

RunResult Client::Run(const v1::RunCodeRequest& request,
                      absl::Duration deadline) {
  RunResult result;
  grpc::ClientContext context;
  context.set_deadline(Deadline(deadline));
  const absl::Time start = absl::Now();
  result.status = stub_->RunCode(&context, request, &result.response);
  result.elapsed = absl::Now() - start;
  return result;
}

StreamResult Client::Stream(const v1::RunCodeRequest& request,
                            absl::Duration deadline) {
  StreamResult result;
  const absl::Time start = absl::Now();
  StreamCall call(*stub_, request, deadline);
  v1::StreamRunCodeResponse event;
  while (call.Next(&event)) {
    result.events.push_back(event);
    result.arrivals.push_back(absl::Now() - start);
  }
  result.status = call.Finish();
  return result;
}

std::vector<RunResult> Client::RunAll(
    const std::vector<v1::RunCodeRequest>& requests, int in_flight,
    absl::Duration deadline) {
  std::vector<RunResult> results(requests.size());
  std::atomic<size_t> next{0};
  std::vector<std::thread> workers;
  workers.reserve(static_cast<size_t>(in_flight));
  for (int i = 0; i < in_flight; ++i) {
    workers.emplace_back([&] {
      for (size_t mine = next++; mine < requests.size(); mine = next++) {
        results[mine] = Run(requests[mine], deadline);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  return results;
}

grpc::Status Client::List(const v1::ListRunsRequest& request,
                          v1::ListRunsResponse* response) {
  grpc::ClientContext context;
  context.set_deadline(Deadline(absl::Seconds(20)));
  return stub_->ListRuns(&context, request, response);
}

grpc::Status Client::CancelRun(const std::string& run_id,
                               v1::CancelRunResponse* response) {
  grpc::ClientContext context;
  context.set_deadline(Deadline(absl::Seconds(20)));
  v1::CancelRunRequest request;
  request.set_run_id(run_id);
  return stub_->CancelRun(&context, request, response);
}

grpc::Status Client::Info(v1::GetServerInfoResponse* response) {
  grpc::ClientContext context;
  context.set_deadline(Deadline(absl::Seconds(20)));
  return stub_->GetServerInfo(&context, v1::GetServerInfoRequest(), response);
}

bool Client::Serving(const std::string& service, absl::Duration deadline) {
  // HealthCheckRequest.service is field 1; HealthCheckResponse.status too, and
  // SERVING is 1. Debian ships no generated class for them.
  std::string body;
  if (!service.empty()) {
    body = absl::StrCat(
        "\x0a", std::string(1, static_cast<char>(service.size())), service);
  }
  std::string answer;
  const grpc::Status status = CallRaw("/grpc.health.v1.Health/Check", body,
                                      &answer, deadline, Waiting::kForServer);
  return status.ok() && answer == "\x08\x01";
}

grpc::Status Client::CallRaw(const std::string& method, const std::string& body,
                             std::string* answer, absl::Duration deadline,
                             Waiting waiting) {
  grpc::GenericStub generic(channel_);
  grpc::ClientContext context;
  context.set_deadline(Deadline(deadline));
  // A call that fails at once would leave a connection that is being made with
  // nobody who polls it, for up to 5 s.
  context.set_wait_for_ready(waiting == Waiting::kForServer);
  grpc::CompletionQueue queue;
  auto call =
      generic.PrepareUnaryCall(&context, method, ToBuffer(body), &queue);
  call->StartCall();
  grpc::ByteBuffer buffer;
  grpc::Status status;
  call->Finish(&buffer, &status, nullptr);
  WaitForEvent(queue);
  if (answer != nullptr && status.ok()) *answer = FromBuffer(buffer);
  return status;
}

grpc::Status Client::Reflect(std::string* answer) {
  grpc::GenericStub generic(channel_);
  grpc::ClientContext context;
  context.set_deadline(Deadline(absl::Seconds(20)));
  grpc::CompletionQueue queue;
  auto call = generic.PrepareCall(
      &context,
      "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  call->StartCall(nullptr);
  if (WaitForEvent(queue)) {
    // ServerReflectionRequest.list_services is field 7, a string, and
    // file_containing_symbol field 4.
    for (const char* question :
         {"\x3a\x01*", "\x22\x1bsandglass.v1.SandboxService",
          "\x22\x15grpc.health.v1.Health"}) {
      call->Write(ToBuffer(question), nullptr);
      if (!WaitForEvent(queue)) break;
      grpc::ByteBuffer buffer;
      call->Read(&buffer, nullptr);
      if (WaitForEvent(queue)) answer->append(FromBuffer(buffer));
    }
    call->WritesDone(nullptr);
    WaitForEvent(queue);
  }
  grpc::Status status;
  call->Finish(&status, nullptr);
  WaitForEvent(queue);
  return status;
}

v1::RunCodeRequest Program(std::string_view language, std::string_view code) {
  v1::RunCodeRequest request;
  request.set_language(std::string(language));
  request.set_code(std::string(code));
  return request;
}

v1::RunCodeRequest WithWall(v1::RunCodeRequest request, absl::Duration wall) {
  SetDuration(request.mutable_limits()->mutable_wall_time(), wall);
  return request;
}

void SetDuration(google::protobuf::Duration* target, absl::Duration value) {
  absl::Duration rest;
  target->set_seconds(absl::IDivDuration(value, absl::Seconds(1), &rest));
  target->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
}

absl::Duration ToAbsl(const google::protobuf::Duration& value) {
  return absl::Seconds(value.seconds()) + absl::Nanoseconds(value.nanos());
}

}  // namespace sandglass::testing
