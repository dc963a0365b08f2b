#include "bench/burst.h"

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "sandglass/v1/session_service.grpc.pb.h"

namespace sandglass::bench {
namespace {

constexpr size_t kBurstConnections = 8;
constexpr absl::Duration kBurstCallTime = absl::Minutes(1);

struct Connection {
  std::unique_ptr<v1::SandboxService::Stub> runs;
  std::unique_ptr<v1::SessionService::Stub> sessions;
};

std::vector<Connection> Connect(const std::string& address) {
  std::vector<Connection> connections;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  for (size_t i = 0; i < kBurstConnections; ++i) {
    const auto channel = grpc::CreateCustomChannel(
        address, grpc::InsecureChannelCredentials(), arguments);
    if (!channel->WaitForConnected(
            absl::ToChronoTime(absl::Now() + kBurstCallTime))) {
      return {};
    }
    connections.push_back({v1::SandboxService::NewStub(channel),
                           v1::SessionService::NewStub(channel)});
  }
  return connections;
}

// Counts down to zero.
class Open {
 public:
  explicit Open(size_t count) : count_(count) {}
  void Close() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    --count_;
  }
  void Await() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](size_t* count) { return *count == 0; }, &count_));
  }

 private:
  absl::Mutex mutex_;
  size_t count_ ABSL_GUARDED_BY(mutex_);
};

// One session: its calls, one after the other, and what came of them.
struct Session {
  explicit Session(Connection& to) : connection(to) {}

  void Create(Open& open) {
    create.set_language("python");
    asked = absl::Now();
    SetDeadline(contexts[0]);
    connection.sessions->async()->CreateSession(
        &contexts[0], &create, &made,
        [this, &open](const grpc::Status& status) {
          created = absl::Now();
          if (!status.ok()) return Fail(status.error_message(), open);
          Run(open);
        });
  }
  void Run(Open& open) {
    run.set_session_id(made.session().session_id());
    run.set_code("print(1)");
    SetDeadline(contexts[1]);
    connection.runs->async()->RunCode(
        &contexts[1], &run, &result, [this, &open](const grpc::Status& status) {
          answered = absl::Now();
          if (!status.ok()) return Fail(status.error_message(), open);
          if (result.outcome() != v1::OUTCOME_OK ||
              result.stdout().data() != "1\n") {
            return Fail(v1::Outcome_Name(result.outcome()), open);
          }
          open.Close();
        });
  }
  void Delete(Open& open) {
    end.set_session_id(made.session().session_id());
    SetDeadline(contexts[2]);
    connection.sessions->async()->DeleteSession(
        &contexts[2], &end, &ended,
        [&open](const grpc::Status&) { open.Close(); });
  }
  void Fail(const std::string& why, Open& open) {
    wrong = why.empty() ? "no reason" : why;
    open.Close();
  }
  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(absl::ToChronoTime(absl::Now() + kBurstCallTime));
  }

  Connection& connection;
  grpc::ClientContext contexts[3];
  v1::CreateSessionRequest create;
  v1::CreateSessionResponse made;
  v1::RunCodeRequest run;
  v1::RunCodeResponse result;
  v1::DeleteSessionRequest end;
  v1::DeleteSessionResponse ended;
  absl::Time asked, created, answered;
  std::string wrong;
};

}  // namespace

BurstReport MeasureBurst(const BurstOptions& options) {
  BurstReport report = {.wanted = options.sessions};
  std::vector<Connection> connections = Connect(options.address);
  if (connections.empty()) {
    report.problem = "the daemon doesn't answer";
    return report;
  }
  std::vector<std::unique_ptr<Session>> sessions;
  for (size_t i = 0; i < options.sessions; ++i) {
    sessions.push_back(
        std::make_unique<Session>(connections[i % connections.size()]));
  }
  Open open(sessions.size());
  const absl::Time start = absl::Now();
  for (const auto& session : sessions) session->Create(open);
  open.Await();
  report.time = absl::Now() - start;

  std::vector<absl::Duration> created;
  std::vector<absl::Duration> first;
  Open ending(sessions.size());
  for (const auto& session : sessions) {
    if (session->wrong.empty()) {
      created.push_back(session->created - session->asked);
      first.push_back(session->answered - session->created);
    } else if (++report.wrong == 1) {
      report.first_wrong = session->wrong;
    }
    session->Delete(ending);
  }
  ending.Await();
  report.created = Summarise(std::move(created));
  report.first = Summarise(std::move(first));
  return report;
}

}  // namespace sandglass::bench
