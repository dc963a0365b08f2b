// Two accounts of one daemon: whatever the first of them holds, the second gets
// its answers.

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "sandglass/v1/exec_service.grpc.pb.h"
#include "tests/support/calls/caller_as.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kFirst = 23456;
constexpr uid_t kSecond = 34567;

// Calls of one account, over one connection.
class Account {
 public:
  Account(const Daemon& daemon, uid_t uid) {
    absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
        ConnectAs(uid, daemon.socket_path());
    EXPECT_TRUE(channel.ok()) << channel.status();
    if (!channel.ok()) return;
    runs_ = v1::SandboxService::NewStub(*channel);
    sessions_ = v1::SessionService::NewStub(*channel);
    execs_ = v1::ExecService::NewStub(*channel);
  }

  v1::SandboxService::Stub& runs() { return *runs_; }

  RunResult Run(const v1::RunCodeRequest& request) {
    grpc::ClientContext context;
    SetDeadline(context);
    RunResult result;
    const absl::Time start = absl::Now();
    result.status = runs_->RunCode(&context, request, &result.response);
    result.elapsed = absl::Now() - start;
    return result;
  }
  grpc::Status CreateSession(std::string* id) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::CreateSessionRequest request;
    request.set_language("python");
    v1::CreateSessionResponse response;
    grpc::Status status =
        sessions_->CreateSession(&context, request, &response);
    *id = response.session().session_id();
    return status;
  }
  void DeleteSession(const std::string& id) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::DeleteSessionRequest request;
    request.set_session_id(id);
    v1::DeleteSessionResponse response;
    EXPECT_THAT(sessions_->DeleteSession(&context, request, &response), IsOk());
  }
  grpc::Status StartSleep(const std::string& session_id) {
    grpc::ClientContext context;
    SetDeadline(context);
    v1::StartExecRequest request;
    request.mutable_spec()->set_session_id(session_id);
    request.mutable_spec()->set_command("sleep 600");
    request.mutable_spec()->set_background(true);
    request.mutable_wait();
    v1::StartExecResponse response;
    return execs_->StartExec(&context, request, &response);
  }

 private:
  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(absl::ToChronoTime(absl::Now() + kCallDeadline));
  }

  std::unique_ptr<v1::SandboxService::Stub> runs_;
  std::unique_ptr<v1::SessionService::Stub> sessions_;
  std::unique_ptr<v1::ExecService::Stub> execs_;
};

// Many runs of one account at once. Those that are still there at the end are
// cancelled.
class Flood {
 public:
  Flood(Account& account, const v1::RunCodeRequest& request, int calls)
      : request_(request) {
    for (int i = 0; i < calls; ++i) {
      calls_.push_back(std::make_unique<Call>());
      Call& call = *calls_.back();
      call.context.set_deadline(
          absl::ToChronoTime(absl::Now() + 2 * kCallDeadline));
      account.runs().async()->RunCode(
          &call.context, &request_, &call.response,
          [this](const grpc::Status& status) {
            absl::MutexLock lock(&mutex_);
            (status.ok() ? answered_ : failed_)++;
            reasons_.push_back(DetailsOf(status).reason);
          });
    }
  }
  ~Flood() {
    for (const auto& call : calls_) call->context.TryCancel();
    absl::MutexLock lock(&mutex_);
    const auto all_over = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
      return answered_ + failed_ == static_cast<int>(calls_.size());
    };
    mutex_.Await(absl::Condition(&all_over));
  }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  int answered() const {
    absl::MutexLock lock(&mutex_);
    return answered_;
  }
  std::vector<std::string> reasons() const {
    absl::MutexLock lock(&mutex_);
    return reasons_;
  }

 private:
  struct Call {
    grpc::ClientContext context;
    v1::RunCodeResponse response;
  };
  const v1::RunCodeRequest request_;
  std::vector<std::unique_ptr<Call>> calls_;
  mutable absl::Mutex mutex_;
  int answered_ ABSL_GUARDED_BY(mutex_) = 0;
  int failed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> reasons_ ABSL_GUARDED_BY(mutex_);
};

class Callers : public OwnDaemonTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(StartDaemon({.config = R"({
      "socket": {"mode": "0666"}, "admission": {"max_running": 4}
    })"}));
  }
  // Waits until so many runs wait for a place.
  bool WaitForQueue(uint32_t runs) {
    return WaitUntil(
        [&] {
          v1::GetServerInfoResponse info;
          return client().Info(&info).ok() && info.admission().queued() >= runs;
        },
        absl::Seconds(30));
  }
};

TEST_F(Callers, ManyShortRunsOfOneDoNotGoFirst) {
  Account first(daemon(), kFirst);
  Account second(daemon(), kSecond);
  Flood flood(first, Bash("sleep 0.2"), 120);
  ASSERT_TRUE(WaitForQueue(80));
  const int before = flood.answered();
  for (int i = 0; i < 5; ++i) {
    const RunResult result = second.Run(Python("print(1)"));
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(result.response.stdout().data(), "1\n");
  }
  // In order of arrival they would have come after all of the first's.
  EXPECT_LT(flood.answered(), before + 60);
}

TEST_F(Callers, ManyLongRunsOfOneKeepNobodyWaiting) {
  Account first(daemon(), kFirst);
  Account second(daemon(), kSecond);
  Flood flood(first, Bash("sleep 29"), 300);
  ASSERT_TRUE(WaitForQueue(120));
  for (int i = 0; i < 10; ++i) {
    const RunResult result = second.Run(Python("print(1)"));
    ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  }
  // Root is a caller like others, and has its place.
  EXPECT_THAT(client().Run(Python("print(1)")), OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(flood.answered(), 0) << "none of them has made room";
  // What the first has too many of is its own share.
  const std::vector<std::string> reasons = flood.reasons();
  EXPECT_FALSE(reasons.empty());
  for (const std::string& reason : reasons) {
    EXPECT_EQ(reason, "QUEUE_SHARE_FULL");
  }
}

// The more there are of them, the less each has; nobody has nothing.
TEST_F(Callers, LongRunsOfOneLeaveRoomForSomeOthers) {
  Account first(daemon(), kFirst);
  Account second(daemon(), kSecond);
  Flood flood(first, Bash("sleep 29"), 40);
  ASSERT_TRUE(WaitForQueue(30));
  Flood long_one(second, Bash("sleep 29"), 10);
  ASSERT_TRUE(WaitForQueue(40));
  EXPECT_THAT(client().Run(Python("print(1)")), OutcomeIs(v1::OUTCOME_OK));
}

TEST_F(Callers, AllSessionsOfOneAreNotAllThereAre) {
  Account first(daemon(), kFirst);
  Account second(daemon(), kSecond);
  std::vector<std::string> ids;
  grpc::Status refused;
  while (refused.ok() && ids.size() < 200) {
    std::string id;
    refused = first.CreateSession(&id);
    if (refused.ok()) ids.push_back(id);
  }
  EXPECT_EQ(ids.size(), 64u) << "sessions.max";
  EXPECT_EQ(DetailsOf(refused).reason, "TOO_MANY_SESSIONS");
  EXPECT_THAT(refused.error_message(),
              HasSubstr(absl::StrCat("uid:", kFirst,
                                     " has 64 of the server's "
                                     "64 sessions, which is its share")));
  std::string of_second;
  ASSERT_THAT(second.CreateSession(&of_second), IsOk());
  v1::RunCodeRequest cell;
  cell.set_session_id(of_second);
  cell.set_code("print(1)");
  EXPECT_THAT(second.Run(cell), OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(second.StartSleep(of_second), IsOk());
  std::string of_root;
  Account root(daemon(), 0);
  ASSERT_THAT(root.CreateSession(&of_root), IsOk());
  root.DeleteSession(of_root);
  second.DeleteSession(of_second);
  for (const std::string& id : ids) first.DeleteSession(id);
}

}  // namespace
}  // namespace sandglass::testing
