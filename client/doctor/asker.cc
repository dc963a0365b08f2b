#include "client/doctor/asker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/base/terminal_filter.h"
#include "client/base/units.h"
#include "client/connection/error_text.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace sandglass::client {
namespace {

// The time limit for everything. An idle machine needs a tenth of it.
constexpr absl::Duration kWhole = absl::Seconds(120);
// The time limit for one call; the daemon lowers the run's wall time to it.
constexpr absl::Duration kCall = absl::Seconds(12);
// For how long in all a busy daemon is asked again.
constexpr absl::Duration kPatience = absl::Seconds(5);
// For how long to wait for an interpreter: a JVM needs seconds to be ready.
constexpr absl::Duration kUntilOneWaits = absl::Seconds(30);
constexpr absl::Duration kPause = absl::Milliseconds(100);

bool IsBusy(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED ||
         (status.error_code() == grpc::StatusCode::UNAVAILABLE &&
          !IsConnectionLoss(status));
}

absl::Duration RetryDelay(const grpc::Status& status) {
  google::rpc::Status rich;
  if (rich.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& any : rich.details()) {
      google::rpc::RetryInfo retry;
      if (any.Is<google::rpc::RetryInfo>() && any.UnpackTo(&retry)) {
        return std::clamp(FromProto(retry.retry_delay()), kPause,
                          absl::Seconds(1));
      }
    }
  }
  return kPause;
}

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCall));
}

}  // namespace

Asker::Asker(const Daemon& daemon, InterruptWatcher& interrupts,
             std::string profile)
    : daemon_(daemon),
      interrupts_(interrupts),
      profile_(std::move(profile)),
      end_(absl::Now() + kWhole),
      patience_(kPatience) {}

v1::RunCodeRequest Asker::Request(const Way& way,
                                  const std::vector<std::string>& args) const {
  const Starter* starter = FindStarter(way.language);
  v1::RunCodeRequest request;
  request.set_language(way.language);
  request.set_profile(profile_);
  (*request.mutable_labels())["sandglass"] = "doctor";
  // A program's imports decide which of Python's interpreters it gets.
  request.set_code(absl::StrCat(
      way.kind == "python-science" ? "import numpy\n" : "", starter->code));
  for (const std::string& arg : args) request.add_args(arg);
  v1::InputFile& probe = *request.add_files();
  probe.set_path(kProbeName);
  probe.set_content(std::string(ProbeImage()));
  probe.set_executable(true);
  if (way.kind == "exec" && starter->fresh_name != nullptr) {
    (*request.mutable_env())[starter->fresh_name] = starter->fresh_value;
  }
  return request;
}

absl::Status Asker::RecordFailure(const grpc::Status& status) {
  if (!failure_) failure_ = status;
  if (IsConnectionLoss(status)) lost_ = true;
  std::string text = RpcErrorText(status, daemon_.address);
  text = text.substr(0, text.find('\n'));
  return absl::UnavailableError(absl::StripPrefix(text, "sandglass: "));
}

void Asker::Pause(absl::Duration time) const {
  const absl::Time until = std::min(absl::Now() + time, end_);
  while (!interrupted() && absl::Now() < until) {
    absl::SleepFor(absl::Milliseconds(20));
  }
}

absl::StatusOr<v1::RunCodeResponse> Asker::Ask(
    const v1::RunCodeRequest& request) {
  for (;;) {
    if (interrupted()) return absl::CancelledError("interrupted");
    if (lost_) return absl::UnavailableError("the connection broke before");
    if (absl::Now() > end_) {
      return absl::DeadlineExceededError(absl::StrCat(
          "it took more than ", FormatTimeSpan(kWhole), " in all"));
    }
    const absl::Time start = absl::Now();
    grpc::ClientContext context;
    SetDeadline(context);
    const InterruptWatcher::Scope scope(interrupts_, context);
    v1::RunCodeResponse response;
    const grpc::Status status =
        daemon_.stub->RunCode(&context, request, &response);
    if (status.ok()) {
      ++runs_;
      return response;
    }
    if (!IsBusy(status) || patience_ <= absl::ZeroDuration()) {
      return RecordFailure(status);
    }
    Pause(RetryDelay(status));
    // This includes the time in the daemon's queue.
    patience_ -= absl::Now() - start;
  }
}

bool Asker::Waits(const std::string& kind) {
  v1::GetServerInfoResponse info;
  if (!Info(info).ok()) return true;  // the run will report the error
  return std::any_of(info.pool().begin(), info.pool().end(),
                     [&](const v1::PoolKind& each) {
                       return each.kind() == kind &&
                              each.profile() == profile_ && each.idle() > 0;
                     });
}

absl::StatusOr<v1::RunCodeResponse> Asker::AskIn(
    const Way& way, const v1::RunCodeRequest& request) {
  const bool prestarted = absl::EndsWith(way.kind, "-run");
  const absl::Time until = absl::Now() + kUntilOneWaits;
  for (;;) {
    while (prestarted && !interrupted() && absl::Now() < until &&
           !Waits(way.kind)) {
      Pause(kPause);
    }
    absl::StatusOr<v1::RunCodeResponse> response = Ask(request);
    if (!response.ok() || response->timings().kind() == way.kind) {
      return response;
    }
    if (way.kind == "exec" || absl::Now() > until) {
      return absl::NotFoundError(
          absl::StrCat("no run got a jail of this kind; the last one's was ",
                       response->timings().kind()));
    }
    Pause(kPause);
  }
}

absl::StatusOr<std::unique_ptr<Asker::Companion>> Asker::Accompany(
    v1::RunCodeRequest request) {
  if (interrupted()) return absl::CancelledError("interrupted");
  auto companion = std::make_unique<Companion>();
  SetDeadline(companion->context_);
  v1::StreamRunCodeRequest wrapped;
  *wrapped.mutable_run() = std::move(request);
  const InterruptWatcher::Scope scope(interrupts_, companion->context_);
  companion->reader_ =
      daemon_.stub->StreamRunCode(&companion->context_, wrapped);
  std::string output;
  v1::StreamRunCodeResponse event;
  while (companion->reader_->Read(&event)) {
    if (event.has_chunk() &&
        event.chunk().stream() == v1::OUTPUT_STREAM_STDOUT) {
      absl::StrAppend(&output, event.chunk().data());
    }
    const size_t done = output.find("done=");
    if (done == std::string::npos) continue;
    if (output.find('\n', done) == std::string::npos) continue;
    ++runs_;
    companion->reply_ = ParseProbe(output);
    return companion;
  }
  const grpc::Status status = companion->reader_->Finish();
  companion->reader_ = nullptr;
  if (!status.ok()) return RecordFailure(status);
  return absl::InternalError("the run that was to leave marks ended");
}

Asker::Companion::~Companion() {
  if (reader_ == nullptr) return;
  context_.TryCancel();
  v1::StreamRunCodeResponse event;
  while (reader_->Read(&event)) {
  }
  reader_->Finish();
}

grpc::Status Asker::Info(v1::GetServerInfoResponse& info) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  const InterruptWatcher::Scope scope(interrupts_, context);
  grpc::Status status =
      daemon_.stub->GetServerInfo(&context, v1::GetServerInfoRequest(), &info);
  if (!status.ok() && !failure_) failure_ = status;
  return status;
}

}  // namespace sandglass::client
