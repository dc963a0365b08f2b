#include "bench/libraries_client.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "google/protobuf/duration.pb.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/os/process.h"

namespace sandglass::bench {
namespace {

// Above what an install may take.
constexpr absl::Duration kCallTime = absl::Minutes(6);

}  // namespace

LibrariesClient::LibrariesClient(const std::string& address)
    : stub_(v1::SandboxService::NewStub(
          grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {}

absl::StatusOr<LibrariesRun> LibrariesClient::Run(
    const LibrariesProgram& program) {
  v1::RunCodeRequest request;
  request.set_language(program.language);
  request.set_code(program.code);
  request.set_profile(program.profile);
  for (const std::string& each : program.libraries) {
    request.add_libraries(each);
  }
  for (const std::string& each : program.args) request.add_args(each);
  for (const auto& [path, content] : program.files) {
    v1::InputFile& file = *request.add_files();
    file.set_path(path);
    file.set_content(content);
  }
  v1::RunCodeResponse response;
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTime));
  const int64_t start = os::MonotonicNanos();
  const grpc::Status status = stub_->RunCode(&context, request, &response);
  LibrariesRun run;
  run.time = absl::Nanoseconds(os::MonotonicNanos() - start);
  if (!status.ok()) {
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                        status.error_message());
  }
  if (response.outcome() != v1::OUTCOME_OK) {
    return absl::UnknownError(absl::StrCat(
        "a run ended with ", v1::Outcome_Name(response.outcome()), ": ",
        response.evidence().explanation(), " ", response.stderr().data()));
  }
  const google::protobuf::Duration& wait = response.libraries().wait();
  run.wait = absl::Seconds(wait.seconds()) + absl::Nanoseconds(wait.nanos());
  run.installed = response.libraries().installed();
  run.warm = response.timings().warm();
  run.output = response.stdout().data();
  return run;
}

}  // namespace sandglass::bench
