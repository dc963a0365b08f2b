// First calls that only use gRPC and the public API: a run whose output is
// printed as it is written, and a session, which keeps its state.
//
//   first_call [ADDRESS]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/grpcpp.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "sandglass/v1/session_service.grpc.pb.h"

namespace v1 = sandglass::v1;

namespace {

constexpr char kCode[] = R"(
import time
for n in range(1, 4):
    print(n * n, flush=True)
    time.sleep(0.3)
)";

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
}

grpc::Status Stream(v1::SandboxService::Stub& sandbox) {
  v1::StreamRunCodeRequest request;
  request.mutable_run()->set_language("python");
  request.mutable_run()->set_code(kCode);
  request.mutable_run()->mutable_limits()->mutable_wall_time()->set_seconds(5);
  grpc::ClientContext context;
  SetDeadline(context);
  const auto reader = sandbox.StreamRunCode(&context, request);
  v1::StreamRunCodeResponse event;
  while (reader->Read(&event)) {
    if (event.has_chunk()) {
      const std::string& data = event.chunk().data();
      std::fwrite(data.data(), 1, data.size(), stdout);
      std::fflush(stdout);
    } else if (event.has_result()) {
      // However a program ends, that is never a gRPC error.
      const v1::RunCodeResponse& result = event.result();
      std::printf("%s, %s: %s\n", v1::Outcome_Name(result.outcome()).c_str(),
                  result.timings().warm() ? "warm" : "cold",
                  result.evidence().explanation().c_str());
    }
  }
  return reader->Finish();
}

grpc::Status InSteps(v1::SandboxService::Stub& sandbox,
                     v1::SessionService::Stub& sessions) {
  v1::CreateSessionRequest create;
  create.set_language("python");
  v1::CreateSessionResponse created;
  grpc::ClientContext context;
  SetDeadline(context);
  grpc::Status status = sessions.CreateSession(&context, create, &created);
  if (!status.ok()) return status;
  const std::string id = created.session().session_id();
  for (const char* code : {"x = 20", "x + 1"}) {
    v1::RunCodeRequest request;
    request.set_session_id(id);
    request.set_code(code);
    grpc::ClientContext of_run;
    SetDeadline(of_run);
    v1::RunCodeResponse answer;
    status = sandbox.RunCode(&of_run, request, &answer);
    if (!status.ok()) break;
    for (const v1::RichResult& result : answer.results()) {
      std::printf("%s\n", result.data(0).data().c_str());
    }
  }
  grpc::ClientContext of_end;
  SetDeadline(of_end);
  v1::DeleteSessionRequest end;
  end.set_session_id(id);
  v1::DeleteSessionResponse ended;
  sessions.DeleteSession(&of_end, end, &ended);
  return status;
}

std::string Reason(const grpc::Status& status) {
  google::rpc::Status rich;
  rich.ParseFromString(status.error_details());
  google::rpc::ErrorInfo info;
  for (const google::protobuf::Any& detail : rich.details()) {
    if (detail.UnpackTo(&info)) return info.reason();
  }
  return "code " + std::to_string(status.error_code());
}

std::string Variable(const char* name, const char* otherwise = "") {
  const char* const value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr ? value : otherwise;
}

// Over TLS, as other machines need it, where $SANDGLASS_CA is a file with the
// authority of the daemon's certificate; $SANDGLASS_TOKEN says who calls.
std::shared_ptr<grpc::ChannelCredentials> Credentials() {
  const std::string ca = Variable("SANDGLASS_CA");
  const std::string token = Variable("SANDGLASS_TOKEN");
  if (ca.empty()) return grpc::InsecureChannelCredentials();
  std::ifstream file(ca);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs.assign(std::istreambuf_iterator<char>(file), {});
  const auto channel = grpc::SslCredentials(options);
  if (token.empty()) return channel;
  return grpc::CompositeChannelCredentials(channel,
                                           grpc::AccessTokenCredentials(token));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string usual =
      Variable("SANDGLASS_ADDRESS", "unix:/run/sandglass/sandglass.sock");
  const std::string address = argc > 1 ? argv[1] : usual;
  // By default gRPC accepts 4 MiB; an answer may have 16.
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(16 << 20);
  const std::shared_ptr<grpc::Channel> channel =
      grpc::CreateCustomChannel(address, Credentials(), arguments);
  const auto sandbox = v1::SandboxService::NewStub(channel);
  const auto sessions = v1::SessionService::NewStub(channel);
  grpc::Status status = Stream(*sandbox);
  if (status.ok()) status = InSteps(*sandbox, *sessions);
  if (!status.ok()) {
    std::fprintf(stderr, "%s: %s\n", Reason(status).c_str(),
                 status.error_message().c_str());
    return 1;
  }
  return 0;
}
