#include "bench/daemon_client.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/duration.pb.h"
#include "grpcpp/grpcpp.h"
#include "sandbox/os/process.h"

namespace sandglass::bench {
namespace {

constexpr absl::Duration kConnectTime = absl::Seconds(20);
// Far above any limit used here, so that it never shortens one.
constexpr absl::Duration kCallTime = absl::Seconds(60);

absl::Duration FromProto(const google::protobuf::Duration& duration) {
  return absl::Seconds(duration.seconds()) +
         absl::Nanoseconds(duration.nanos());
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

void SetDeadline(grpc::ClientContext& context, absl::Duration time) {
  context.set_deadline(std::chrono::system_clock::now() +
                       absl::ToChronoMilliseconds(time));
}

v1::RunCodeRequest Python(const char* code) {
  v1::RunCodeRequest request;
  request.set_language("python");
  request.set_code(code);
  return request;
}

}  // namespace

absl::StatusOr<DaemonClient> DaemonClient::Connect(const std::string& address) {
  DaemonClient client(v1::SandboxService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials())));
  if (absl::Status status = client.LearnFacts(); !status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat("the daemon at ", address,
                                     " doesn't answer: ", status.message()));
  }
  return client;
}

absl::Status DaemonClient::LearnFacts() {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  SetDeadline(context, kConnectTime);
  v1::GetServerInfoResponse info;
  const grpc::Status status =
      stub_->GetServerInfo(&context, v1::GetServerInfoRequest(), &info);
  if (!status.ok()) return FromGrpc(status);
  facts_.emplace_back("sandglass", info.version());
  for (const v1::LanguageInfo& language : info.languages()) {
    if (language.id() != "python") continue;
    facts_.emplace_back("python", language.available()
                                      ? language.version()
                                      : language.unavailable_reason());
  }
  std::vector<std::string> layers;
  for (const v1::IsolationLayer& layer : info.isolation()) {
    if (layer.state() == v1::LAYER_STATE_IN_FORCE) {
      layers.push_back(layer.name());
    }
  }
  facts_.emplace_back("layers in force", absl::StrJoin(layers, ", "));
  return absl::OkStatus();
}

absl::StatusOr<v1::RunCodeResponse> DaemonClient::Run(
    const v1::RunCodeRequest& request, v1::Outcome expected) {
  grpc::ClientContext context;
  SetDeadline(context, kCallTime);
  v1::RunCodeResponse response;
  const grpc::Status status = stub_->RunCode(&context, request, &response);
  if (!status.ok()) return FromGrpc(status);
  if (response.outcome() != expected) {
    return absl::UnknownError(absl::StrCat(
        v1::Outcome_Name(response.outcome()), " and not ",
        v1::Outcome_Name(expected), ": ", response.evidence().explanation(),
        " ", response.stderr().data()));
  }
  return response;
}

absl::StatusOr<std::vector<std::string>> DaemonClient::ProgramEnvironment() {
  // /proc and not os.environ: the interpreter adds to the latter.
  const absl::StatusOr<v1::RunCodeResponse> response =
      Run(Python("import sys\n"
                 "with open('/proc/self/environ', 'rb') as file:\n"
                 "    sys.stdout.buffer.write(file.read())\n"),
          v1::OUTCOME_OK);
  if (!response.ok()) return response.status();
  return std::vector<std::string>(
      absl::StrSplit(response->stdout().data(), '\0', absl::SkipEmpty()));
}

absl::StatusOr<PrintSample> DaemonClient::TimePrint() {
  const v1::RunCodeRequest request = Python("print(1)\n");
  const int64_t start = os::MonotonicNanos();
  const absl::StatusOr<v1::RunCodeResponse> response =
      Run(request, v1::OUTCOME_OK);
  PrintSample sample;
  sample.call = absl::Nanoseconds(os::MonotonicNanos() - start);
  if (!response.ok()) return response.status();
  if (response->stdout().data() != "1\n") {
    return absl::UnknownError(absl::StrCat(
        "the program printed '", response->stdout().data(), "' and not 1"));
  }
  const v1::PhaseTimings& timings = response->timings();
  const absl::Duration total = FromProto(timings.total());
  sample.phases = {{"queue", FromProto(timings.queue())},
                   {"acquire", FromProto(timings.acquire())},
                   {"stage_in", FromProto(timings.stage_in())},
                   {"run", FromProto(timings.run())},
                   {"drain", FromProto(timings.drain())},
                   {"stage_out", FromProto(timings.stage_out())},
                   {"total in the daemon", total},
                   {"client and transport", sample.call - total}};
  for (const v1::StepTiming& step : timings.setup_steps()) {
    sample.steps.emplace_back(step.step(), FromProto(step.duration()));
  }
  return sample;
}

absl::StatusOr<WallSample> DaemonClient::TimeWallLimit(absl::Duration limit) {
  v1::RunCodeRequest request = Python("while True:\n    pass\n");
  const int64_t nanos = absl::ToInt64Nanoseconds(limit);
  google::protobuf::Duration& wall =
      *request.mutable_limits()->mutable_wall_time();
  wall.set_seconds(nanos / 1'000'000'000);
  wall.set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  const int64_t start = os::MonotonicNanos();
  const absl::StatusOr<v1::RunCodeResponse> response =
      Run(request, v1::OUTCOME_TIMEOUT);
  const absl::Duration call = absl::Nanoseconds(os::MonotonicNanos() - start);
  if (!response.ok()) return response.status();
  return WallSample{
      .decided = FromProto(response->evidence().killed_after()) - limit,
      .ended = FromProto(response->usage().wall_time()) - limit,
      .call = call - limit};
}

}  // namespace sandglass::bench
