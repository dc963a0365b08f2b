// How long one account waits for its first answer beside what another account
// does to the daemon:
//
//   sandglass-bench-callers --socket /run/sandglass/sandglass.sock
//
// As root, on a daemon whose socket all may connect to ("socket": {"mode":
// "0666"}), on an otherwise idle machine. Each sample is a new connection and
// one `print(1)`. Exit code 1: with some burden the 99th percentile is more
// than five times that without any, or a run was refused.
//
// A further burden is one more line in Burdens().
#include <grpcpp/grpcpp.h>
#include <sys/types.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "bench/stats.h"
#include "bench/tables.h"
#include "nlohmann/json.hpp"
#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "sandglass/v1/session_service.grpc.pb.h"
#include "tests/support/calls/caller_as.h"

namespace sandglass::bench {
namespace {

constexpr absl::Duration kCallTime = absl::Minutes(1);
constexpr absl::Duration kAfterRefusal = absl::Seconds(1);
constexpr absl::Duration kGap = absl::Milliseconds(10);
// Until what the first caller began has its effect.
constexpr absl::Duration kSettle = absl::Seconds(3);
constexpr double kMaxSlower = 5;

// What the other account does until the end of its life.
class Burden {
 public:
  virtual ~Burden() = default;
};

struct Place {
  std::string socket;
  uid_t first;
  uid_t second;
};
using Start =
    std::function<absl::StatusOr<std::unique_ptr<Burden>>(const Place& place)>;

v1::RunCodeRequest Program(const std::string& language,
                           const std::string& code) {
  v1::RunCodeRequest request;
  request.set_language(language);
  request.set_code(code);
  return request;
}

absl::Status FromGrpc(const grpc::Status& status) {
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTime));
}

// So many runs at any time: one that has ended, or was refused, is followed by
// another.
class ManyRuns : public Burden {
 public:
  ManyRuns(std::shared_ptr<grpc::Channel> channel, v1::RunCodeRequest request,
           int runs)
      : stub_(v1::SandboxService::NewStub(std::move(channel))),
        request_(std::move(request)) {
    for (int i = 0; i < runs; ++i) threads_.emplace_back([this] { Loop(); });
  }
  ~ManyRuns() override {
    {
      absl::MutexLock lock(&mutex_);
      over_ = true;
      for (grpc::ClientContext* context : going_on_) context->TryCancel();
    }
    for (std::thread& thread : threads_) thread.join();
  }
  ManyRuns(const ManyRuns&) = delete;
  ManyRuns& operator=(const ManyRuns&) = delete;

 private:
  void Loop() {
    while (true) {
      grpc::ClientContext context;
      SetDeadline(context);
      {
        absl::MutexLock lock(&mutex_);
        if (over_) return;
        going_on_.insert(&context);
      }
      v1::RunCodeResponse response;
      const grpc::Status status = stub_->RunCode(&context, request_, &response);
      {
        absl::MutexLock lock(&mutex_);
        going_on_.erase(&context);
      }
      if (!status.ok()) absl::SleepFor(kAfterRefusal);
    }
  }

  const std::unique_ptr<v1::SandboxService::Stub> stub_;
  const v1::RunCodeRequest request_;
  absl::Mutex mutex_;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  std::set<grpc::ClientContext*> going_on_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_;
};

// As many sessions as it gets, each with a kernel that has run a cell.
class ManySessions : public Burden {
 public:
  ManySessions(const std::shared_ptr<grpc::Channel>& channel, int sessions)
      : sessions_(v1::SessionService::NewStub(channel)) {
    const auto runs = v1::SandboxService::NewStub(channel);
    for (int i = 0; i < sessions; ++i) {
      grpc::ClientContext creation;
      SetDeadline(creation);
      v1::CreateSessionRequest request;
      request.set_language("python");
      v1::CreateSessionResponse response;
      if (!sessions_->CreateSession(&creation, request, &response).ok()) break;
      ids_.push_back(response.session().session_id());
      grpc::ClientContext cell;
      SetDeadline(cell);
      v1::RunCodeRequest code;
      code.set_session_id(ids_.back());
      code.set_code("x = 1");
      v1::RunCodeResponse answer;
      (void)runs->RunCode(&cell, code, &answer);
    }
    std::cerr << "it has " << ids_.size() << " sessions\n";
  }
  ~ManySessions() override {
    for (const std::string& id : ids_) {
      grpc::ClientContext context;
      SetDeadline(context);
      v1::DeleteSessionRequest request;
      request.set_session_id(id);
      v1::DeleteSessionResponse response;
      (void)sessions_->DeleteSession(&context, request, &response);
    }
  }
  ManySessions(const ManySessions&) = delete;
  ManySessions& operator=(const ManySessions&) = delete;

 private:
  const std::unique_ptr<v1::SessionService::Stub> sessions_;
  std::vector<std::string> ids_;
};

// Connections that say nothing. One that the daemon closes isn't made again.
class SilentConnections : public Burden {
 public:
  SilentConnections(const Place& place, int connections) {
    for (int i = 0; i < connections; ++i) {
      const absl::StatusOr<int> fd =
          testing::SocketAs(place.first, place.socket);
      if (fd.ok()) open_.push_back(*fd);
    }
    std::cerr << "it has made " << open_.size() << " connections\n";
  }
  ~SilentConnections() override {
    for (const int fd : open_) ::close(fd);
  }
  SilentConnections(const SilentConnections&) = delete;
  SilentConnections& operator=(const SilentConnections&) = delete;

 private:
  std::vector<int> open_;
};

class Several : public Burden {
 public:
  explicit Several(std::vector<std::unique_ptr<Burden>> parts)
      : parts_(std::move(parts)) {}

 private:
  const std::vector<std::unique_ptr<Burden>> parts_;
};

absl::StatusOr<std::unique_ptr<Burden>> Silent(const Place& place) {
  return std::make_unique<SilentConnections>(place, 1500);
}

// Each on a connection of its own, one after the other.
absl::StatusOr<std::unique_ptr<Burden>> LargeRequests(const Place& place) {
  v1::RunCodeRequest request = Program("bash", "true");
  request.set_stdin(std::string(15 << 20, 'x'));
  std::vector<std::unique_ptr<Burden>> parts;
  for (int i = 0; i < 30; ++i) {
    auto channel = testing::ConnectAs(place.first, place.socket);
    if (!channel.ok()) return channel.status();
    parts.push_back(
        std::make_unique<ManyRuns>(*std::move(channel), request, 1));
  }
  return std::make_unique<Several>(std::move(parts));
}

Start Runs(const v1::RunCodeRequest& request, int runs) {
  return [=](const Place& place) -> absl::StatusOr<std::unique_ptr<Burden>> {
    auto channel = testing::ConnectAs(place.first, place.socket);
    if (!channel.ok()) return channel.status();
    return std::make_unique<ManyRuns>(*std::move(channel), request, runs);
  };
}

absl::StatusOr<std::unique_ptr<Burden>> Sessions(const Place& place) {
  auto channel = testing::ConnectAs(place.first, place.socket);
  if (!channel.ok()) return channel.status();
  return std::make_unique<ManySessions>(*channel, 64);
}

const std::vector<std::pair<std::string, Start>>& Burdens() {
  static const auto& all = *new std::vector<std::pair<std::string, Start>>{
      {"sessions", Sessions},
      {"waiting", Runs(Program("bash", "sleep 0.2"), 300)},
      {"sleeping", Runs(Program("bash", "sleep 29"), 300)},
      {"silent", Silent},
      {"large", LargeRequests},
      {"bombs", Runs(Program("bash", "b() { b | b & }; b; wait"), 40)},
  };
  return all;
}

struct Measured {
  std::string beside;
  Summary times;
  size_t refused = 0;
  std::string first_refusal;
};

Measured Measure(const Place& place, const std::string& beside,
                 absl::Duration time) {
  Measured measured{.beside = beside};
  std::vector<absl::Duration> samples;
  const v1::RunCodeRequest request = Program("python", "print(1)");
  const absl::Time end = absl::Now() + time;
  while (absl::Now() < end) {
    const absl::Time start = absl::Now();
    absl::Status done;
    auto channel = testing::ConnectAs(place.second, place.socket);
    if (channel.ok()) {
      grpc::ClientContext context;
      SetDeadline(context);
      v1::RunCodeResponse response;
      done = FromGrpc(v1::SandboxService::NewStub(*channel)->RunCode(
          &context, request, &response));
      if (done.ok() && response.stdout().data() != "1\n") {
        done = absl::InternalError(v1::Outcome_Name(response.outcome()));
      }
    } else {
      done = channel.status();
    }
    samples.push_back(absl::Now() - start);
    if (!done.ok() && measured.refused++ == 0) {
      measured.first_refusal = std::string(done.message());
    }
    absl::SleepFor(kGap);
  }
  measured.times = Summarise(std::move(samples));
  return measured;
}

double Slower(const Measured& beside, const Measured& alone) {
  return absl::FDivDuration(beside.times.p99, alone.times.p99);
}

std::string Text(const std::vector<Measured>& all) {
  std::vector<Cells> lines = {
      {"beside", "n", "p50", "p99", "max", "p99 to alone", "refused"}};
  for (const Measured& one : all) {
    lines.push_back({one.beside, absl::StrCat(one.times.n), Ms(one.times.p50),
                     Ms(one.times.p99), Ms(one.times.max),
                     absl::StrFormat("%.1f", Slower(one, all.front())),
                     absl::StrCat(one.refused)});
  }
  return Table(lines);
}

nlohmann::ordered_json Json(const std::vector<Measured>& all) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Measured& one : all) {
    json.push_back({{"beside", one.beside},
                    {"times", SummaryJson(one.times)},
                    {"refused", one.refused},
                    {"first_refusal", one.first_refusal}});
  }
  return json;
}

int Main(int argc, char** argv) {
  Place place{.first = 23456, .second = 34567};
  std::vector<std::string> chosen;
  std::string json;
  int seconds = 20;
  CLI::App app("How long one account waits beside what another does");
  app.add_option("--socket", place.socket, "the daemon's unix socket")
      ->required();
  app.add_option("--first", place.first, "the uid that burdens the daemon");
  app.add_option("--second", place.second, "the uid that is measured");
  app.add_option("--seconds", seconds, "for each of them")
      ->check(CLI::Range(1, 3600));
  app.add_option("--burdens", chosen,
                 "these, of: sessions waiting sleeping silent large bombs")
      ->delimiter(',');
  app.add_option("--json", json, "write the figures there too");
  CLI11_PARSE(app, argc, argv);

  const absl::Duration time = absl::Seconds(seconds);
  // The first of all may find jails that are still being made.
  Measure(place, "", std::min(time, kSettle));
  std::vector<Measured> all = {Measure(place, "nothing", time)};
  for (const auto& [name, start] : Burdens()) {
    if (!chosen.empty() &&
        std::find(chosen.begin(), chosen.end(), name) == chosen.end()) {
      continue;
    }
    std::cerr << name << "\n";
    absl::StatusOr<std::unique_ptr<Burden>> burden = start(place);
    if (!burden.ok()) {
      std::cerr << name << ": " << burden.status().message() << "\n";
      return 2;
    }
    absl::SleepFor(kSettle);
    all.push_back(Measure(place, name, time));
    burden->reset();
    absl::SleepFor(kSettle);
  }
  std::cout << Text(all);
  if (!json.empty()) std::ofstream(json) << Json(all).dump(2) << "\n";
  bool good = true;
  for (const Measured& one : all) {
    if (one.refused > 0) {
      std::cerr << one.beside << ": " << one.first_refusal << "\n";
    }
    good = good && one.refused == 0 && Slower(one, all.front()) <= kMaxSlower;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace sandglass::bench

int main(int argc, char** argv) { return sandglass::bench::Main(argc, argv); }
