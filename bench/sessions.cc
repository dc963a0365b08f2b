#include "bench/sessions.h"

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "bench/rounds.h"
#include "sandbox/os/process.h"
#include "sandglass/v1/exec_service.grpc.pb.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "sandglass/v1/session_service.grpc.pb.h"

namespace sandglass::bench {
namespace {

constexpr absl::Duration kCallTime = absl::Seconds(30);
// Freed memory and new idle jails take a moment to be counted.
constexpr absl::Duration kSettle = absl::Seconds(2);
constexpr char kProgram[] = "print(1)";

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

class Sessions {
 public:
  explicit Sessions(const std::string& address) {
    const auto channel =
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
    runs_ = v1::SandboxService::NewStub(channel);
    sessions_ = v1::SessionService::NewStub(channel);
    execs_ = v1::ExecService::NewStub(channel);
  }

  // In a session, or without one when its id is empty.
  absl::Status Run(const std::string& session_id) {
    v1::RunCodeRequest request;
    request.set_language("python");
    request.set_code(kProgram);
    request.set_session_id(session_id);
    v1::RunCodeResponse response;
    grpc::ClientContext context;
    SetDeadline(context);
    const absl::Status status =
        FromGrpc(runs_->RunCode(&context, request, &response));
    if (!status.ok()) return status;
    if (response.outcome() != v1::OUTCOME_OK ||
        response.stdout().data() != "1\n") {
      return absl::UnknownError(absl::StrCat(
          "a run ended with ", v1::Outcome_Name(response.outcome()), ": ",
          response.evidence().explanation()));
    }
    return absl::OkStatus();
  }

  // The smallest command, in one call
  absl::Status StartExec(const std::string& session_id) {
    v1::StartExecRequest request;
    *request.mutable_spec() = True(session_id);
    v1::StartExecResponse response;
    grpc::ClientContext context;
    SetDeadline(context);
    const absl::Status status =
        FromGrpc(execs_->StartExec(&context, request, &response));
    if (!status.ok()) return status;
    return CheckEnd(response.snapshot().exec().end());
  }

  // or by a stream.
  absl::Status Execute(const std::string& session_id) {
    v1::ExecuteRequest request;
    *request.mutable_start()->mutable_spec() = True(session_id);
    grpc::ClientContext context;
    SetDeadline(context);
    const auto stream = execs_->Execute(&context);
    stream->Write(request);
    v1::ExecuteResponse response;
    v1::ExecEnd end;
    while (stream->Read(&response)) {
      if (response.has_end()) end = response.end();
    }
    const absl::Status status = FromGrpc(stream->Finish());
    return status.ok() ? CheckEnd(end) : status;
  }

  absl::StatusOr<std::string> Create() {
    v1::CreateSessionRequest request;
    request.set_language("python");
    v1::CreateSessionResponse response;
    grpc::ClientContext context;
    SetDeadline(context);
    const absl::Status status =
        FromGrpc(sessions_->CreateSession(&context, request, &response));
    if (!status.ok()) return status;
    return response.session().session_id();
  }

  absl::Status Delete(const std::string& session_id) {
    v1::DeleteSessionRequest request;
    request.set_session_id(session_id);
    v1::DeleteSessionResponse response;
    grpc::ClientContext context;
    SetDeadline(context);
    return FromGrpc(sessions_->DeleteSession(&context, request, &response));
  }

 private:
  static v1::ExecSpec True(const std::string& session_id) {
    v1::ExecSpec spec;
    spec.set_session_id(session_id);
    spec.add_argv("/usr/bin/true");
    return spec;
  }
  static absl::Status CheckEnd(const v1::ExecEnd& end) {
    if (end.outcome() == v1::OUTCOME_OK) return absl::OkStatus();
    return absl::UnknownError(absl::StrCat("a command ended with ",
                                           v1::Outcome_Name(end.outcome()),
                                           ": ", end.evidence().explanation()));
  }
  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTime));
  }

  std::unique_ptr<v1::SandboxService::Stub> runs_;
  std::unique_ptr<v1::SessionService::Stub> sessions_;
  std::unique_ptr<v1::ExecService::Stub> execs_;
};

// Times steps, one after another, with a rest before each.
class Steps {
 public:
  Steps(const SessionsOptions& options, NamedSamples& times)
      : options_(options), times_(times) {}

  absl::Status Take(const char* name,
                    const std::function<absl::Status()>& step) {
    absl::SleepFor(options_.gap);
    const int64_t start = os::MonotonicNanos();
    const absl::Status status = step();
    const absl::Duration took = absl::Nanoseconds(os::MonotonicNanos() - start);
    if (counted_ && status.ok()) times_.Add({{name, took}});
    return status;
  }
  void Count() { counted_ = true; }

 private:
  const SessionsOptions& options_;
  NamedSamples& times_;
  bool counted_ = false;
};

absl::Status OneRound(Sessions& sessions, Steps& steps) {
  std::string id;
  const std::vector<std::pair<const char*, std::function<absl::Status()>>>
      parts = {
          {kWarmRun, [&] { return sessions.Run(""); }},
          {kCreateAndRun,
           [&] {
             const absl::StatusOr<std::string> created = sessions.Create();
             if (!created.ok()) return created.status();
             id = *created;
             return sessions.Run(id);
           }},
          {kKernelRun, [&] { return sessions.Run(id); }},
          {kStartExec, [&] { return sessions.StartExec(id); }},
          {kExecute, [&] { return sessions.Execute(id); }},
          {kDelete, [&] { return sessions.Delete(id); }},
      };
  for (const auto& [name, part] : parts) {
    if (absl::Status status = steps.Take(name, part); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

// Memory of the daemon's groups that so many used sessions add, each.
absl::Status MeasureIdle(Sessions& sessions, const SessionsOptions& options,
                         SessionsReport& report) {
  absl::SleepFor(kSettle);
  const uint64_t before = options.groups->MemoryBytes();
  std::vector<std::string> ids;
  absl::Status status;
  while (status.ok() && ids.size() < options.idle) {
    const absl::StatusOr<std::string> id = sessions.Create();
    status = id.status();
    if (!id.ok()) break;
    ids.push_back(*id);
    status = sessions.Run(*id);
  }
  absl::SleepFor(kSettle);
  const uint64_t after = options.groups->MemoryBytes();
  if (status.ok() && after > before) {
    report.idle = ids.size();
    report.idle_bytes =
        static_cast<double>(after - before) / static_cast<double>(ids.size());
  }
  for (const std::string& id : ids) (void)sessions.Delete(id);
  return status;
}

}  // namespace

SessionsReport MeasureSessions(const SessionsOptions& options) {
  SessionsReport report;
  Sessions sessions(options.address);
  NamedSamples times;
  Steps steps(options, times);
  absl::Status status;
  for (int round = 1; status.ok() && round <= options.rounds + kWarmUpRounds;
       ++round) {
    if (round > kWarmUpRounds) steps.Count();
    status = OneRound(sessions, steps);
    Progress("sessions", round, options.rounds + kWarmUpRounds);
  }
  report.times = times.Summaries();
  if (status.ok()) status = MeasureIdle(sessions, options, report);
  if (!status.ok()) report.problem = std::string(status.message());
  return report;
}

}  // namespace sandglass::bench
