#include "tests/client/fake/fake_daemon.h"

#include <chrono>
#include <thread>
#include <utility>

#include "google/rpc/status.pb.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server_builder.h"

namespace sandglass::client {

FakeDaemon::FakeDaemon() {
  Start();
  Answer(ResponseWith(v1::OUTCOME_OK));
}

FakeDaemon::~FakeDaemon() { Stop(); }

void FakeDaemon::Start() {
  grpc::ServerBuilder builder;
  builder.SetMaxReceiveMessageSize(17 << 20);
  // How long gRPC's threads wait for one event. At times they miss one, and a
  // call stands still for so long: by default ten seconds.
  builder.SetSyncServerOption(
      grpc::ServerBuilder::SyncServerOption::CQ_TIMEOUT_MSEC, 100);
  builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
  builder.RegisterService(this);
  builder.RegisterService(&sessions);
  builder.RegisterService(&files);
  builder.RegisterService(&execs);
  builder.RegisterService(&operators);
  server_ = builder.BuildAndStart();
}

void FakeDaemon::Stop() {
  if (server_ == nullptr) return;
  server_->Shutdown(std::chrono::system_clock::now());
  server_ = nullptr;
}

grpc::Status FakeDaemon::WaitForCancel(grpc::ServerContext& context) {
  for (int i = 0; i < 2000; ++i) {
    if (context.IsCancelled()) {
      cancelled = true;
      return grpc::Status::CANCELLED;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return grpc::Status(grpc::StatusCode::INTERNAL, "nobody cancelled");
}

void FakeDaemon::Answer(const v1::RunCodeResponse& response) {
  on_run = [response](const v1::RunCodeRequest&, v1::RunCodeResponse& out) {
    out = response;
    return grpc::Status::OK;
  };
  on_stream = [response](grpc::ServerContext&, const v1::RunCodeRequest&,
                         StreamWriter& writer) {
    SendStarted(writer);
    SendChunk(writer, v1::OUTPUT_STREAM_STDOUT, 0, response.stdout().data());
    SendChunk(writer, v1::OUTPUT_STREAM_STDERR, 0, response.stderr().data());
    SendResult(writer, response);
    return grpc::Status::OK;
  };
}

void FakeDaemon::FailRuns(const grpc::Status& status) {
  on_run = [status](const v1::RunCodeRequest&, v1::RunCodeResponse&) {
    return status;
  };
  on_stream = [status](grpc::ServerContext&, const v1::RunCodeRequest&,
                       StreamWriter&) { return status; };
}

SubprocessOptions FakeDaemon::Client(std::vector<std::string> args) const {
  SubprocessOptions options;
  options.args = std::move(args);
  options.env = {"SANDGLASS_ADDRESS=" + address(), "PATH=/usr/bin:/bin",
                 "TERM=xterm", "TZ=UTC"};
  options.directory = directory_.path();
  return options;
}

SubprocessResult FakeDaemon::RunClient(std::vector<std::string> args) const {
  return RunProcess(Client(std::move(args)));
}

grpc::Status FakeDaemon::RunCode(grpc::ServerContext*,
                                 const v1::RunCodeRequest* request,
                                 v1::RunCodeResponse* response) {
  last_request = *request;
  ++runs;
  return on_run.Get()(*request, *response);
}

grpc::Status FakeDaemon::StreamRunCode(grpc::ServerContext* context,
                                       const v1::StreamRunCodeRequest* request,
                                       StreamWriter* writer) {
  last_request = request->run();
  ++runs;
  return on_stream.Get()(*context, request->run(), *writer);
}

grpc::Status FakeDaemon::ListRuns(grpc::ServerContext*,
                                  const v1::ListRunsRequest* request,
                                  v1::ListRunsResponse* response) {
  return on_list.Get()(*request, *response);
}

grpc::Status FakeDaemon::CancelRun(grpc::ServerContext*,
                                   const v1::CancelRunRequest* request,
                                   v1::CancelRunResponse* response) {
  return on_cancel.Get()(*request, *response);
}

grpc::Status FakeDaemon::GetServerInfo(grpc::ServerContext*,
                                       const v1::GetServerInfoRequest*,
                                       v1::GetServerInfoResponse* response) {
  ++info_calls;
  *response = FakeInfo();
  return grpc::Status::OK;
}

v1::GetServerInfoResponse FakeInfo() {
  v1::GetServerInfoResponse info;
  info.set_version("0.1.0");
  info.set_kernel("6.1.0-28-amd64");
  info.mutable_uptime()->set_seconds(3723);
  info.mutable_admission()->set_running(1);
  info.mutable_admission()->set_max_running(8);
  info.mutable_admission()->set_max_queued(64);
  info.mutable_admission()->set_memory_reserved_bytes(256 << 20);
  info.mutable_admission()->set_memory_budget_bytes(uint64_t{4} << 30);
  v1::LanguageInfo& python = *info.add_languages();
  python.set_id("python");
  python.set_name("Python");
  python.add_aliases("py");
  python.add_file_extensions(".py");
  python.set_version("3.11.2");
  python.set_available(true);
  python.set_session(v1::SESSION_SUPPORT_KERNEL);
  v1::LanguageInfo& bash = *info.add_languages();
  bash.set_id("bash");
  bash.set_name("Bash");
  bash.add_aliases("sh");
  bash.add_file_extensions(".sh");
  bash.set_unavailable_reason("install the package bash");
  bash.set_session(v1::SESSION_SUPPORT_KERNEL);
  v1::ProfileInfo& profile = *info.add_profiles();
  profile.set_name("default");
  profile.set_description("What runs get that name no profile");
  profile.mutable_limits()->mutable_wall_time()->set_seconds(30);
  profile.mutable_limits()->set_memory_bytes(256 << 20);
  profile.mutable_maximum_limits()->mutable_wall_time()->set_seconds(300);
  profile.add_languages("python");
  profile.set_network("none");
  v1::IsolationLayer& layer = *info.add_isolation();
  layer.set_name("seccomp");
  layer.set_state(v1::LAYER_STATE_IN_FORCE);
  layer.set_required(true);
  layer.set_detail("231 calls allowed");
  return info;
}

v1::RunCodeResponse ResponseWith(v1::Outcome outcome) {
  v1::RunCodeResponse response;
  response.set_run_id("r-1");
  response.set_outcome(outcome);
  response.mutable_usage()->mutable_wall_time()->set_nanos(12300000);
  return response;
}

void SendChunk(StreamWriter& writer, v1::OutputStream stream, uint64_t offset,
               const std::string& data) {
  v1::StreamRunCodeResponse event;
  event.mutable_chunk()->set_stream(stream);
  event.mutable_chunk()->set_offset(offset);
  event.mutable_chunk()->set_data(data);
  writer.Write(event);
}

void SendStarted(StreamWriter& writer) {
  v1::StreamRunCodeResponse event;
  event.mutable_started()->set_run_id("r-1");
  writer.Write(event);
}

void SendRich(StreamWriter& writer, const v1::RichResult& result) {
  v1::StreamRunCodeResponse event;
  *event.mutable_rich() = result;
  writer.Write(event);
}

void SendResult(StreamWriter& writer, const v1::RunCodeResponse& response) {
  v1::StreamRunCodeResponse event;
  *event.mutable_result() = response;
  writer.Write(event);
}

v1::RichResult RichOf(
    uint64_t stdout_offset, uint64_t stderr_offset,
    const std::vector<std::pair<std::string, std::string>>& type_and_data) {
  v1::RichResult result;
  result.set_stdout_offset(stdout_offset);
  result.set_stderr_offset(stderr_offset);
  for (const auto& [type, data] : type_and_data) {
    v1::MimeData& item = *result.add_data();
    item.set_mime_type(type);
    item.set_data(data);
  }
  return result;
}

grpc::Status RichStatus(
    grpc::StatusCode code, const std::string& message,
    const std::vector<const google::protobuf::Message*>& details) {
  google::rpc::Status rich;
  rich.set_code(code);
  rich.set_message(message);
  for (const google::protobuf::Message* detail : details) {
    rich.add_details()->PackFrom(*detail);
  }
  return grpc::Status(code, message, rich.SerializeAsString());
}

}  // namespace sandglass::client
