#include "server/session/session_table.h"

#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "internal/files.pb.h"
#include "sandbox/os/seqpacket.h"
#include "server/base/errors.h"
#include "server/files/file_session.h"
#include "server/languages/languages.h"
#include "server/run/run_dispatcher.h"
#include "tests/unit/server/installed_gate.h"
#include "tests/unit/server/scripted_runner.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

// What the hosts of one test have in common.
struct Hosts {
  ScriptedRuns runs;
  std::atomic<int> made{0}, ended{0}, frozen{0}, forgotten{0};
  std::shared_ptr<sandbox::FileAgent> agent;  // set before it is asked for
  std::string death ABSL_GUARDED_BY(mutex);
  absl::Mutex mutex;
};

class FakeHost final : public SessionHost {
 public:
  explicit FakeHost(Hosts& hosts) : hosts_(hosts) { ++hosts_.made; }
  absl::StatusOr<JobResult> RunCell(const Job& job, CancelToken& cancel,
                                    RunListener* listener) override {
    absl::StatusOr<JobResult> result = hosts_.runs.Run(job, cancel, listener);
    if (result.ok()) result->cell.emplace();
    return result;
  }
  bool Interrupt(const std::string&) override { return false; }
  void EndKernel(const std::string&, const std::string&) override {}
  absl::StatusOr<std::shared_ptr<sandbox::FileAgent>> Files(
      CancelToken&) override {
    if (hosts_.agent != nullptr) return hosts_.agent;
    return absl::UnavailableError("there are no files here");
  }
  void ForgetFiles(const sandbox::FileAgent&) override { ++hosts_.forgotten; }
  absl::Status Freeze(bool frozen) override {
    hosts_.frozen = frozen ? 1 : 0;
    return absl::OkStatus();
  }
  void End() override { ++hosts_.ended; }
  std::vector<v1::KernelInfo> Kernels() const override { return {}; }
  uint64_t MemoryBytes() const override { return 5; }
  std::string Death() const override {
    absl::MutexLock lock(&hosts_.mutex);
    return hosts_.death;
  }

 private:
  Hosts& hosts_;
};

class SessionTableTest : public ::testing::Test {
 protected:
  SessionTable& table() {
    if (!table_) {
      table_.emplace(
          policy_, options_,
          [this](const SessionSpec&, const SessionOrigin&) {
            return std::make_unique<FakeHost>(hosts_);
          },
          kInstalled);
      table_->Start();
    }
    return *table_;
  }
  RunDispatcher& dispatcher() {
    if (!dispatcher_) {
      dispatcher_.emplace(DispatcherOptions{
          .admission = {.max_running = 2,
                        .memory_budget_bytes = uint64_t{4} << 30,
                        .max_queued_bytes = max_line_bytes_},
          .policy = &policy_,
          .runner = &cells_,
          .gate = &kInstalled,
          .sessions = &table()});
      dispatcher_->Start();
    }
    return *dispatcher_;
  }
  static v1::CreateSessionRequest Shell() {
    v1::CreateSessionRequest request;
    request.set_language("sh");
    return request;
  }
  std::string Create(const v1::CreateSessionRequest& request = Shell()) {
    const auto created = table().Create(User(1), request);
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? created->session().session_id() : "";
  }
  RunPtr Submit(RecordingListener& listener, const std::string& id,
                const std::string& code, const std::string& context = "") {
    v1::RunCodeRequest request;
    request.set_session_id(id);
    request.set_code(code);
    request.set_context(context);
    return dispatcher().Submit(User(1), std::move(request), std::nullopt, "",
                               &listener);
  }
  absl::StatusCode FindAs(uint32_t uid, const std::string& id) {
    return table().Find(User(uid), id).status().code();
  }

  const LivePolicy policy_{TestPolicy()};
  SessionOptions options_{.max_sessions = 4, .max_per_caller = 3};
  uint64_t max_line_bytes_ = uint64_t{256} << 20;
  Hosts hosts_;
  ScriptedRunner cells_{
      [](const Job& job, CancelToken& cancel, RunListener* listener) {
        return SessionPlaceOf(job.target)->session->Run(job, cancel, listener);
      }};
  std::optional<SessionTable> table_;
  RecordingListener first_, second_, third_;
  std::optional<RunDispatcher> dispatcher_;
};

TEST_F(SessionTableTest, ASessionBelongsToItsCaller) {
  const std::string id = Create();
  EXPECT_EQ(FindAs(1, id), absl::StatusCode::kOk);
  EXPECT_EQ(FindAs(0, id), absl::StatusCode::kOk);
  EXPECT_EQ(FindAs(2, id), absl::StatusCode::kNotFound);
  EXPECT_EQ(table().Delete(User(2), id).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(table().List(User(2), {})->sessions_size(), 0);
  EXPECT_EQ(table().List(User(1), {})->sessions_size(), 1);
  EXPECT_TRUE(table().Delete(User(1), id).ok());
  // Of others' that have ended nothing is told either.
  EXPECT_THAT(std::string(table().Find(User(2), id).status().message()),
              HasSubstr("there is no session"));
  EXPECT_THAT(std::string(table().Find(User(1), id).status().message()),
              HasSubstr("it was deleted"));
  EXPECT_EQ(hosts_.ended, 1);
}

TEST_F(SessionTableTest, SessionsAreCountedByCallerAndAltogether) {
  for (int i = 0; i < 3; ++i) Create();
  EXPECT_EQ(table().Create(User(1), Shell()).status().code(),
            absl::StatusCode::kResourceExhausted);
  const auto other = table().Create(User(2), Shell());
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(table().Create(User(3), Shell()).status().code(),
            absl::StatusCode::kResourceExhausted);
  ASSERT_TRUE(table().Delete(User(2), other->session().session_id()).ok());
  EXPECT_TRUE(table().Create(User(3), Shell()).ok());
}

TEST_F(SessionTableTest, OneCallerLeavesSessionsForOthers) {
  options_ = {.max_sessions = 6, .reserve = 2, .max_per_caller = 100};
  for (int i = 0; i < 6; ++i) Create();
  EXPECT_THAT(
      std::string(table().Create(User(1), Shell()).status().message()),
      HasSubstr("uid:1 has 6 of the server's 6 sessions, which is its share"));
  ASSERT_TRUE(table().Create(User(2), Shell()).ok());
  EXPECT_EQ(table().Create(User(2), Shell()).status().code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(table().Create(User(0), Shell()).ok());
  EXPECT_THAT(std::string(table().Create(User(3), Shell()).status().message()),
              HasSubstr("the server has at most 8 sessions"));
}

TEST_F(SessionTableTest, ASessionWhoseJailDiedSaysWhy) {
  const std::string id = Create();
  {
    absl::MutexLock lock(&hosts_.mutex);
    hosts_.death = "its jail's init died";
  }
  EXPECT_TRUE(Eventually([&] { return table().size() == 0; }));
  EXPECT_THAT(std::string(table().Find(User(1), id).status().message()),
              HasSubstr("init died"));
}

TEST_F(SessionTableTest, GetOrCreateWantsAllItsLabels) {
  v1::GetOrCreateSessionRequest request;
  *request.mutable_create() = Shell();
  EXPECT_EQ(table().GetOrCreate(User(1), request).status().code(),
            absl::StatusCode::kInvalidArgument);
  (*request.mutable_create()->mutable_labels())["thread_id"] = "7";
  const auto made = table().GetOrCreate(User(1), request);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->created());
  EXPECT_FALSE(table().GetOrCreate(User(1), request)->created());
  EXPECT_TRUE(table().GetOrCreate(User(2), request)->created());
  (*request.mutable_create()->mutable_labels())["team"] = "red";
  EXPECT_TRUE(table().GetOrCreate(User(1), request)->created());
}

TEST_F(SessionTableTest, PagesGoOnWhereTheyEnded) {
  const std::vector<std::string> ids = {Create(), Create(), Create()};
  v1::ListSessionsRequest request;
  request.set_page_size(2);
  const auto first = table().List(User(1), request);
  ASSERT_EQ(first->sessions_size(), 2);
  EXPECT_EQ(first->sessions(0).session_id(), ids[2]);
  // One more in between changes nothing.
  ASSERT_TRUE(table().Delete(User(1), ids[1]).ok());
  request.set_page_token(first->next_page_token());
  const auto second = table().List(User(1), request);
  ASSERT_EQ(second->sessions_size(), 1);
  EXPECT_EQ(second->sessions(0).session_id(), ids[0]);
  EXPECT_EQ(second->next_page_token(), "");
  request.set_page_token("x");
  EXPECT_EQ(table().List(User(1), request).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(SessionTableTest, AfterStopNoSessionIsMade) {
  Create();
  table().Stop();
  EXPECT_EQ(hosts_.ended, 1);
  EXPECT_EQ(table().Create(User(1), Shell()).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST_F(SessionTableTest, RunsOfAContextWaitForEachOtherOutsideTheQueue) {
  const std::string id = Create();
  Submit(first_, id, "wait");
  ASSERT_TRUE(Eventually([&] { return hosts_.runs.started() == 1; }));
  Submit(second_, id, "two");
  Submit(third_, id, "other", "b");
  // There are two workers; the second is free for another context.
  EXPECT_EQ(third_.WaitForEnd().response->stdout().data(), "other");
  EXPECT_EQ(second_.ends(), 0u);
  EXPECT_EQ(dispatcher().admission().snapshot().queued, 0u);
  hosts_.runs.Release();
  EXPECT_EQ(second_.WaitForEnd().response->stdout().data(), "two");
  // It made way before it was told of.
  first_.WaitForEnd();
  EXPECT_EQ(first_.ends(), 1u);
}

TEST_F(SessionTableTest, ARunThatLeavesTheLineNeverRuns) {
  const std::string id = Create();
  Submit(first_, id, "wait");
  ASSERT_TRUE(Eventually([&] { return hosts_.runs.started() == 1; }));
  const RunPtr second = Submit(second_, id, "two");
  Submit(third_, id, "three");
  ASSERT_TRUE(dispatcher().Leave(second, &second_));
  hosts_.runs.Release();
  EXPECT_EQ(third_.WaitForEnd().response->stdout().data(), "three");
  EXPECT_EQ(second_.ends(), 0u);
  EXPECT_EQ(hosts_.runs.started(), 2);
}

TEST_F(SessionTableTest, ARunOfASessionThatEndsIsCancelledAndSoAreThoseBehind) {
  const std::string id = Create();
  Submit(first_, id, "wait");
  ASSERT_TRUE(Eventually([&] { return hosts_.runs.started() == 1; }));
  Submit(second_, id, "two");
  ASSERT_TRUE(table().Delete(User(1), id).ok());
  for (RecordingListener* listener : {&first_, &second_}) {
    const auto response = listener->WaitForEnd().response;
    EXPECT_EQ(response->outcome(), v1::OUTCOME_CANCELLED);
    EXPECT_EQ(response->evidence().rule(), "session-ended");
  }
  EXPECT_EQ(hosts_.runs.started(), 1);
  Submit(third_, id, "late");
  EXPECT_EQ(third_.WaitForEnd().status.code(), absl::StatusCode::kNotFound);
}

TEST_F(SessionTableTest, RunsOfASessionThatDiedAreNotCalledCancelled) {
  const std::string id = Create();
  Submit(first_, id, "wait");
  ASSERT_TRUE(Eventually([&] { return hosts_.runs.started() == 1; }));
  Submit(second_, id, "two");
  {
    absl::MutexLock lock(&hosts_.mutex);
    hosts_.death = "its jail's init died";
  }
  EXPECT_EQ(first_.WaitForEnd().response->outcome(), v1::OUTCOME_JAIL_FAILED);
  const absl::Status never_started = second_.WaitForEnd().status;
  EXPECT_EQ(never_started.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrorReason(never_started), "SESSION_DIED");
  EXPECT_THAT(std::string(never_started.message()),
              HasSubstr("its jail's init died"));
}

// Also where its end doesn't find its turn come by itself.
TEST_F(SessionTableTest, CancellingARunOfADeadSessionTellsOfItsDeath) {
  const std::string id = Create();
  Submit(first_, id, "stay");
  ASSERT_TRUE(Eventually([&] { return hosts_.runs.started() == 1; }));
  const RunPtr second = Submit(second_, id, "two");
  {
    absl::MutexLock lock(&hosts_.mutex);
    hosts_.death = "its jail's init died";
  }
  ASSERT_TRUE(Eventually([&] { return table().size() == 0; }));
  ASSERT_TRUE(dispatcher().Cancel(User(1), second->id()).ok());
  EXPECT_EQ(ErrorReason(second_.WaitForEnd().status), "SESSION_DIED");
  hosts_.runs.Release();
  EXPECT_TRUE(first_.WaitForEnd().status.ok());
}

TEST_F(SessionTableTest, RunsOfASessionThatIsStoppedWithTheServerSaySo) {
  const std::string id = Create();
  Submit(first_, id, "wait");
  ASSERT_TRUE(Eventually([&] { return hosts_.runs.started() == 1; }));
  Submit(second_, id, "two");
  table().Stop();
  EXPECT_EQ(first_.WaitForEnd().response->outcome(), v1::OUTCOME_SHUTDOWN);
  EXPECT_EQ(ErrorReason(second_.WaitForEnd().status), "SHUTTING_DOWN");
}

TEST_F(SessionTableTest, ShutdownEndsThoseThatWaitInLine) {
  const std::string id = Create();
  Submit(first_, id, "wait");
  ASSERT_TRUE(Eventually([&] { return hosts_.runs.started() == 1; }));
  Submit(second_, id, "two");
  dispatcher().Shutdown();
  EXPECT_EQ(first_.WaitForEnd().response->outcome(), v1::OUTCOME_SHUTDOWN);
  EXPECT_EQ(second_.WaitForEnd().status.code(), absl::StatusCode::kUnavailable);
}

// What waits in lines holds memory too, and half of it is one caller's.
TEST_F(SessionTableTest, BytesInLinesAreBounded) {
  max_line_bytes_ = 100'000;
  const std::string id = Create();
  Submit(first_, id, "wait");
  ASSERT_TRUE(Eventually([&] { return hosts_.runs.started() == 1; }));
  std::vector<std::unique_ptr<RecordingListener>> listeners;
  for (int i = 0; i < 4; ++i) {
    listeners.push_back(std::make_unique<RecordingListener>());
    Submit(*listeners.back(), id, "#" + std::string(15'000, 'x'));
  }
  const absl::Status refused = listeners[2]->WaitForEnd().status;
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("of the 100000 bytes that the server keeps for all"));
  EXPECT_FALSE(listeners[3]->WaitForEnd().status.ok());
  EXPECT_EQ(listeners[0]->ends(), 0u);
  hosts_.runs.Release();
  EXPECT_TRUE(listeners[0]->WaitForEnd().status.ok());
  EXPECT_TRUE(listeners[1]->WaitForEnd().status.ok());
  // All of it is given back.
  EXPECT_TRUE(Eventually([&] { return dispatcher().idle(); }));
  Submit(second_, id, "#" + std::string(90'000, 'x'));
  EXPECT_TRUE(second_.WaitForEnd().status.ok());
}

TEST_F(SessionTableTest, TheLineIsBounded) {
  const std::string id = Create();
  Submit(first_, id, "wait");
  ASSERT_TRUE(Eventually([&] { return hosts_.runs.started() == 1; }));
  std::vector<std::unique_ptr<RecordingListener>> listeners;
  for (int i = 0; i < 100; ++i) {
    listeners.push_back(std::make_unique<RecordingListener>());
    Submit(*listeners.back(), id, "more");
  }
  EXPECT_EQ(listeners.front()->ends(), 0u);
  EXPECT_EQ(listeners.back()->WaitForEnd().status.code(),
            absl::StatusCode::kResourceExhausted);
  hosts_.runs.Release();
  EXPECT_TRUE(listeners.front()->WaitForEnd().status.ok());
  for (const auto& listener : listeners) listener->WaitForEnd();
  EXPECT_TRUE(Eventually([&] { return dispatcher().idle(); }));
}

TEST_F(SessionTableTest, PauseFreezesAndIsRefusedWhileARunGoesOn) {
  const std::string id = Create();
  const auto session = *table().Find(User(1), id);
  ASSERT_TRUE(session->Pause().ok());
  EXPECT_EQ(hosts_.frozen, 1);
  EXPECT_EQ(session->Describe().state(), v1::SESSION_STATE_PAUSED);
  ASSERT_TRUE(session->Resume().ok());
  EXPECT_EQ(hosts_.frozen, 0);
  Submit(first_, id, "wait");
  ASSERT_TRUE(Eventually([&] { return hosts_.runs.started() == 1; }));
  EXPECT_EQ(session->Pause().code(), absl::StatusCode::kFailedPrecondition);
  hosts_.runs.Release();
  first_.WaitForEnd();
}

TEST_F(SessionTableTest, AUseWakesItKeepsItAndIsToldOfItsEnd) {
  v1::CreateSessionRequest request = Shell();
  request.mutable_idle_timeout()->set_seconds(1);
  const std::string id = Create(request);
  const auto session = *table().Find(User(1), id);
  ASSERT_TRUE(session->Pause().ok());
  int told = 0;
  {
    const auto use = SessionUse::Begin(session, [&] { ++told; });
    ASSERT_TRUE(use.ok()) << use.status();
    EXPECT_EQ(hosts_.frozen, 0);
    EXPECT_EQ(session->Pause().code(), absl::StatusCode::kFailedPrecondition);
    absl::SleepFor(absl::Milliseconds(1200));
    EXPECT_EQ(session->LooksOver().reason, "");
  }
  EXPECT_TRUE(Eventually(
      [&] { return session->LooksOver().reason == "SESSION_EXPIRED"; }));
  EXPECT_TRUE(Eventually([&] { return !session->Lives().ok(); }));
  EXPECT_EQ(told, 0);
  EXPECT_TRUE(absl::IsNotFound(SessionUse::Begin(session, [] {}).status()));

  const auto other = *table().Find(User(1), Create());
  const auto use = SessionUse::Begin(other, [&] { ++told; });
  ASSERT_TRUE(table().Delete(User(1), other->id()).ok());
  EXPECT_EQ(told, 1);
}

TEST_F(SessionTableTest, UsesAtOnceAreBounded) {
  const auto session = *table().Find(User(1), Create());
  std::vector<SessionUse> uses;
  absl::Status refused;
  while (refused.ok() && uses.size() < 1000) {
    auto use = SessionUse::Begin(session, [] {});
    refused = use.status();
    if (use.ok()) uses.push_back(*std::move(use));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  // Commands have a bound of their own.
  EXPECT_TRUE(SessionUse::Begin(
                  session, [] {}, Session::UseKind::kCommand)
                  .ok());
  uses.pop_back();
  EXPECT_TRUE(SessionUse::Begin(session, [] {}).ok());
}

TEST_F(SessionTableTest, CommandsInTheBackgroundMayBePaused) {
  v1::CreateSessionRequest request = Shell();
  request.mutable_idle_timeout()->set_seconds(1);
  const auto session = *table().Find(User(1), Create(request));
  auto use = SessionUse::Begin(
      session, [] {}, Session::UseKind::kCommand);
  ASSERT_TRUE(use.ok());
  EXPECT_EQ(session->Pause().code(), absl::StatusCode::kFailedPrecondition);
  use->Change(Session::UseKind::kBackground);
  EXPECT_TRUE(session->Pause().ok());
  EXPECT_EQ(hosts_.frozen, 1);
  // It is no use as long as it stands still.
  EXPECT_TRUE(Eventually([&] { return !session->Lives().ok(); }));
}

TEST_F(SessionTableTest, ASessionsEndIsReportedOnce) {
  const auto session = *table().Find(User(1), Create());
  int told = 0;
  ASSERT_TRUE(session->AtEnd([&](policy::KillReason) { ++told; }).ok());
  ASSERT_TRUE(table().Delete(User(1), session->id()).ok());
  EXPECT_EQ(told, 1);
  EXPECT_TRUE(
      absl::IsNotFound(session->AtEnd([&](policy::KillReason) { ++told; })));
  EXPECT_EQ(told, 1);
}

// The next agent ends what others have the one before do, so long work that
// takes too long is none that hangs while it answers short calls.
TEST_F(SessionTableTest, AfterLongWorkOnlyAnAgentThatHangsIsForgotten) {
  auto ends = os::SeqPacketPair();
  ASSERT_TRUE(ends.ok()) << ends.status();
  const os::Fd end = std::move(ends->second);
  hosts_.agent = std::make_shared<sandbox::FileAgent>(std::move(ends->first));
  const auto files = FileSession::Open(table(), User(1), Create(),
                                       std::make_shared<FileCallStop>());
  ASSERT_TRUE(files.ok()) << files.status();
  const auto check = [&](FileSession::Work work) {
    return (*files)->Check({sandbox::FileCode::kTimedOut, 0}, "/a", work);
  };
  std::thread agent([&end] {
    const auto packet = os::ReceivePacket(end.get(), os::Wait::kYes);
    internal::FileRequest request;
    EXPECT_TRUE(packet.ok() && request.ParseFromString(packet->data));
    EXPECT_TRUE(request.has_stat());
    internal::FileReply reply;
    reply.set_id(request.id());
    reply.set_last(true);
    reply.set_code(static_cast<int>(sandbox::FileCode::kPermissionDenied));
    EXPECT_TRUE(
        os::SendPacket(end.get(), reply.SerializeAsString(), {}, os::Wait::kYes)
            .ok());
  });
  EXPECT_TRUE(absl::IsDeadlineExceeded(check(FileSession::Work::kLong)));
  agent.join();
  EXPECT_EQ(hosts_.forgotten, 0);
  // Its end stays open, but nobody reads any more.
  EXPECT_TRUE(absl::IsDeadlineExceeded(check(FileSession::Work::kLong)));
  EXPECT_EQ(hosts_.forgotten, 1);
  EXPECT_TRUE(absl::IsDeadlineExceeded(check(FileSession::Work::kShort)));
  EXPECT_EQ(hosts_.forgotten, 2);
}

}  // namespace
}  // namespace sandglass::server
