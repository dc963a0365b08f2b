// The C++ client's side of bench/python_client.py: makes as many calls as each
// line of its standard input says, and prints what each took, in nanoseconds.
//
//   sandglass-bench-calls ADDRESS CODE

#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <vector>

#include "grpcpp/grpcpp.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"

namespace v1 = sandglass::v1;

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: sandglass-bench-calls ADDRESS CODE\n";
    return 2;
  }
  const std::unique_ptr<v1::SandboxService::Stub> stub =
      v1::SandboxService::NewStub(
          grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));
  int calls = 0;
  while (std::cin >> calls) {
    std::vector<int64_t> times;
    for (int i = 0; i < calls; ++i) {
      v1::RunCodeRequest request;
      request.set_language("python");
      request.set_code(argv[2]);
      const auto begin = std::chrono::steady_clock::now();
      grpc::ClientContext context;
      v1::RunCodeResponse response;
      const grpc::Status status = stub->RunCode(&context, request, &response);
      times.push_back(
          std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin)
              .count());
      if (!status.ok() || response.outcome() != v1::OUTCOME_OK) {
        std::cerr << status.error_message()
                  << v1::Outcome_Name(response.outcome()) << "\n";
        return 1;
      }
    }
    for (const int64_t time : times) std::cout << time << " ";
    std::cout << std::endl;
  }
  return 0;
}
