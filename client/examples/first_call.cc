// The smallest useful client: one program, one answer. It stands on gRPC and
// the public API alone.
//
//   first_call [ADDRESS]     (default: unix:/run/sandglass/sandglass.sock)

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>

#include "grpcpp/grpcpp.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"

namespace v1 = sandglass::v1;

int main(int argc, char** argv) {
  const std::string address =
      argc > 1 ? argv[1] : "unix:/run/sandglass/sandglass.sock";
  // gRPC takes 4 MiB unless told otherwise; an answer may have 16.
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(16 << 20);
  const std::unique_ptr<v1::SandboxService::Stub> stub =
      v1::SandboxService::NewStub(grpc::CreateCustomChannel(
          address, grpc::InsecureChannelCredentials(), arguments));

  v1::RunCodeRequest request;
  request.set_language("python");
  request.set_code("print(sum(range(1, 10_001)))");
  request.mutable_limits()->mutable_wall_time()->set_seconds(5);

  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::seconds(30));
  v1::RunCodeResponse response;
  const grpc::Status status = stub->RunCode(&context, request, &response);
  // An error is the request's or the daemon's, never the program's.
  if (!status.ok()) {
    std::fprintf(stderr, "no answer (code %d): %s\n", status.error_code(),
                 status.error_message().c_str());
    return 1;
  }

  const std::string& output = response.stdout().data();
  std::fwrite(output.data(), 1, output.size(), stdout);
  std::fprintf(stderr, "%s: %s\n", v1::Outcome_Name(response.outcome()).c_str(),
               response.evidence().explanation().c_str());
  return response.outcome() == v1::OUTCOME_OK ? 0 : 1;
}
