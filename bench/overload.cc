#include "bench/overload.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"

namespace sandglass::bench {
namespace {

using Stubs = std::vector<std::unique_ptr<v1::SandboxService::Stub>>;

constexpr int kConnections = 8;
constexpr absl::Duration kCallTime = absl::Minutes(1);
constexpr absl::Duration kTick = absl::Milliseconds(1);
// Calls that nobody answers are no reason to run out of memory.
constexpr size_t kMaxUnanswered = 50'000;

v1::RunCodeRequest Request() {
  v1::RunCodeRequest request;
  request.set_language("python");
  request.set_code("print(1)");
  return request;
}

Stubs Connect(const std::string& address) {
  Stubs stubs;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  for (int i = 0; i < kConnections; ++i) {
    stubs.push_back(v1::SandboxService::NewStub(grpc::CreateCustomChannel(
        address, grpc::InsecureChannelCredentials(), arguments)));
  }
  return stubs;
}

bool IsRefusal(const grpc::Status& status) {
  google::rpc::Status details;
  if (status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED ||
      !details.ParseFromString(status.error_details())) {
    return false;
  }
  return std::any_of(details.details().begin(), details.details().end(),
                     [](const auto& detail) {
                       google::rpc::RetryInfo retry;
                       return detail.UnpackTo(&retry);
                     });
}

// One call and where its answer goes.
struct Call {
  grpc::ClientContext context;
  v1::RunCodeResponse response;
  absl::Time start = absl::Now();
};

class Answers {
 public:
  void Begin() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++begun_;
    ++open_;
  }
  void End(const Call& call, const grpc::Status& status)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const absl::Duration took = absl::Now() - call.start;
    const bool refused = IsRefusal(status);
    absl::MutexLock lock(&mutex_);
    --open_;
    if (status.ok() && call.response.outcome() == v1::OUTCOME_OK &&
        call.response.stdout().data() == "1\n") {
      accepted_.push_back(took);
    } else if (refused) {
      refused_.push_back(took);
    } else if (++wrong_ == 1) {
      first_wrong_ = status.ok() ? v1::Outcome_Name(call.response.outcome())
                                 : absl::StrCat("code ", status.error_code(),
                                                ": ", status.error_message());
    }
  }
  size_t open() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return open_;
  }
  // Once all have ended.
  void Collect(OverloadReport& report) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &Answers::AllEnded));
    report.accepted = Summarise(std::move(accepted_));
    report.refused = Summarise(std::move(refused_));
    report.wrong = wrong_;
    report.first_wrong = first_wrong_;
  }
  size_t begun() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return begun_;
  }

 private:
  bool AllEnded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return open_ == 0;
  }

  mutable absl::Mutex mutex_;
  size_t begun_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t open_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<absl::Duration> accepted_ ABSL_GUARDED_BY(mutex_);
  std::vector<absl::Duration> refused_ ABSL_GUARDED_BY(mutex_);
  size_t wrong_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string first_wrong_ ABSL_GUARDED_BY(mutex_);
};

// Runs a second; nothing when one failed.
double Capacity(const Stubs& stubs, absl::Duration time, std::string& problem) {
  const v1::RunCodeRequest request = Request();
  std::atomic<int64_t> runs = 0;
  absl::Mutex mutex;
  const absl::Time start = absl::Now();
  std::vector<std::thread> workers;
  for (const auto& stub : stubs) {
    workers.emplace_back([&, stub = stub.get()] {
      while (absl::Now() - start < time) {
        grpc::ClientContext context;
        context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTime));
        v1::RunCodeResponse response;
        const grpc::Status status = stub->RunCode(&context, request, &response);
        if (status.ok() && response.outcome() == v1::OUTCOME_OK) {
          ++runs;
          continue;
        }
        absl::MutexLock lock(&mutex);
        problem = absl::StrCat("a run failed before: ", status.error_message());
        return;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  return static_cast<double>(runs) / absl::ToDoubleSeconds(absl::Now() - start);
}

}  // namespace

OverloadReport MeasureOverload(const OverloadOptions& options) {
  OverloadReport report = {.factor = options.factor};
  const Stubs stubs = Connect(options.address);
  report.capacity = Capacity(stubs, options.measure, report.problem);
  if (!report.problem.empty()) return report;
  const double rate = report.capacity * options.factor;
  const v1::RunCodeRequest request = Request();
  Answers answers;
  const absl::Time start = absl::Now();
  for (absl::Time now = start; now - start < options.time;
       absl::SleepFor(kTick), now = absl::Now()) {
    const auto due =
        static_cast<size_t>(absl::ToDoubleSeconds(now - start) * rate);
    while (answers.begun() < due && answers.open() < kMaxUnanswered) {
      auto* call = new Call;
      call->context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTime));
      const auto& stub = stubs[answers.begun() % stubs.size()];
      answers.Begin();
      stub->async()->RunCode(&call->context, &request, &call->response,
                             [call, &answers](const grpc::Status& status) {
                               const std::unique_ptr<Call> owned(call);
                               answers.End(*owned, status);
                             });
    }
  }
  report.time = absl::Now() - start;
  report.offered =
      static_cast<double>(answers.begun()) / absl::ToDoubleSeconds(report.time);
  answers.Collect(report);
  return report;
}

}  // namespace sandglass::bench
