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

constexpr absl::Duration kConnectTime = absl::Minutes(2);
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

v1::RunCodeRequest Request(const std::string& language,
                           const std::string& code) {
  v1::RunCodeRequest request;
  request.set_language(language);
  request.set_code(code);
  return request;
}

v1::RunCodeRequest Python(const std::string& code) {
  return Request("python", code);
}

NamedTimes Phases(const v1::RunCodeResponse& response, absl::Duration call) {
  const v1::PhaseTimings& timings = response.timings();
  const absl::Duration total = FromProto(timings.total());
  NamedTimes phases = {{"queue", FromProto(timings.queue())}};
  if (response.has_compile()) {
    const absl::Duration compile = FromProto(timings.compile());
    const absl::Duration compiler =
        FromProto(response.compile().usage().wall_time());
    phases.emplace_back("compiler", compiler);
    phases.emplace_back("compiler's jail", compile - compiler);
  }
  if (timings.has_analysis()) {
    phases.emplace_back("analysis", FromProto(timings.analysis()));
  }
  phases.insert(phases.end(), {{"acquire", FromProto(timings.acquire())},
                               {"stage_in", FromProto(timings.stage_in())},
                               {"run", FromProto(timings.run())},
                               {"drain", FromProto(timings.drain())},
                               {"stage_out", FromProto(timings.stage_out())},
                               {"total in the daemon", total},
                               {"client and transport", call - total}});
  return phases;
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

absl::Status DaemonClient::GetInfo(v1::GetServerInfoResponse& info) {
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  SetDeadline(context, kConnectTime);
  const grpc::Status status =
      stub_->GetServerInfo(&context, v1::GetServerInfoRequest(), &info);
  return status.ok() ? absl::OkStatus() : FromGrpc(status);
}

absl::Status DaemonClient::LearnFacts() { return GetInfo(info_); }

NamedFacts DaemonClient::Facts() const {
  NamedFacts facts = {{"sandglass", info_.version()}};
  for (const v1::LanguageInfo& language : info_.languages()) {
    facts.emplace_back(language.id(), language.available()
                                          ? language.version()
                                          : language.unavailable_reason());
  }
  std::vector<std::string> layers;
  for (const v1::IsolationLayer& layer : info_.isolation()) {
    if (layer.state() == v1::LAYER_STATE_IN_FORCE) {
      layers.push_back(layer.name());
    }
  }
  facts.emplace_back("layers in force", absl::StrJoin(layers, ", "));
  return facts;
}

absl::StatusOr<std::vector<PoolStock>> DaemonClient::Pool() {
  v1::GetServerInfoResponse info;
  if (absl::Status status = GetInfo(info); !status.ok()) return status;
  std::vector<PoolStock> stocks;
  for (const v1::PoolKind& kind : info.pool()) {
    if (kind.profile() != "default") continue;
    stocks.push_back({kind.kind(), kind.idle(), kind.target()});
  }
  return stocks;
}

absl::StatusOr<uint64_t> DaemonClient::Misses() {
  v1::GetServerInfoResponse info;
  if (absl::Status status = GetInfo(info); !status.ok()) return status;
  uint64_t misses = 0;
  for (const v1::PoolKind& kind : info.pool()) misses += kind.misses();
  return misses;
}

std::string DaemonClient::WhyUnavailable(const std::string& language) const {
  for (const v1::LanguageInfo& info : info_.languages()) {
    if (info.id() != language) continue;
    return info.available() ? "" : info.unavailable_reason();
  }
  return "the daemon doesn't know this language";
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

absl::StatusOr<Sample> DaemonClient::TimeRun(const Program& program,
                                             const ProgramText& text) {
  v1::RunCodeRequest request = Request(program.language, text.code);
  if (!program.makes.empty()) request.add_fetch(program.makes);
  request.set_stdin(std::string(program.input_bytes, '0'));
  const int64_t start = os::MonotonicNanos();
  const absl::StatusOr<v1::RunCodeResponse> response =
      Run(request, v1::OUTCOME_OK);
  Sample sample;
  sample.time = absl::Nanoseconds(os::MonotonicNanos() - start);
  if (!response.ok()) return response.status();
  if (text.output.has_value() && response->stdout().data() != *text.output) {
    return absl::UnknownError(absl::StrCat("the program printed '",
                                           response->stdout().data(),
                                           "' and not '", *text.output, "'"));
  }
  if (!program.makes.empty() &&
      (response->files().empty() || response->files(0).content().empty())) {
    return absl::UnknownError(absl::StrCat("no ", program.makes, " came back"));
  }
  const v1::PhaseTimings& timings = response->timings();
  sample.served =
      absl::StrCat(timings.kind(), timings.warm() ? ", warm" : ", cold");
  sample.warm = timings.warm();
  sample.phases = Phases(*response, sample.time);
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
