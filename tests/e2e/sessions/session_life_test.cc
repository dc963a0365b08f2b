// Sessions: how they are found, kept, changed and ended.

#include <future>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using Stub = v1::SessionService::Stub;

class SessionLife : public DaemonTest {
 protected:
  static std::string ReasonOf(const grpc::Status& status) {
    return DetailsOf(status).reason;
  }
  template <typename Request>
  static Request Named(const std::string& id) {
    Request request;
    request.set_session_id(id);
    return request;
  }
};

TEST_F(SessionLife, ACallAfterTheEndIsToldWhy) {
  TestSession session(client());
  ASSERT_THAT(session.Run("1"), OutcomeIs(v1::OUTCOME_OK));
  ASSERT_THAT(session.Delete(), IsOk());
  const RunResult late = session.Run("1");
  EXPECT_THAT(late, StatusIs(grpc::StatusCode::NOT_FOUND));
  EXPECT_EQ(ReasonOf(late.status), "SESSION_DELETED");
  EXPECT_EQ(ReasonOf(session.Delete()), "SESSION_DELETED");

  v1::CreateSessionRequest request = PythonSession();
  request.mutable_idle_timeout()->set_seconds(1);
  TestSession brief(client(), request);
  ASSERT_THAT(brief.Run("1"), OutcomeIs(v1::OUTCOME_OK));
  absl::SleepFor(absl::Milliseconds(1500));
  const grpc::Status expired = brief.Run("1").status;
  EXPECT_EQ(ReasonOf(expired), "SESSION_EXPIRED");
  EXPECT_THAT(expired.error_message(), HasSubstr("not used for 1s"));

  request = PythonSession();
  request.mutable_max_age()->set_seconds(2);
  TestSession old(client(), request);
  const RunResult cut = old.Run("import time\ntime.sleep(20)");
  EXPECT_THAT(cut, OutcomeIs(v1::OUTCOME_CANCELLED));
  EXPECT_EQ(ReasonOf(old.Run("1").status), "SESSION_EXPIRED");

  v1::GetSessionResponse none;
  const grpc::Status never =
      CallSessions(client(), &Stub::GetSession,
                   Named<v1::GetSessionRequest>("ses-0000000000000000"), &none);
  EXPECT_THAT(never, StatusIs(grpc::StatusCode::NOT_FOUND));
  EXPECT_EQ(ReasonOf(never), "SESSION_NOT_FOUND");
}

TEST_F(SessionLife, UseKeepsASessionFromExpiring) {
  v1::CreateSessionRequest request = PythonSession();
  request.mutable_idle_timeout()->set_seconds(2);
  TestSession session(client(), request);
  // Longer than the timeout, the run itself.
  EXPECT_THAT(session.Run("import time\ntime.sleep(3)"),
              OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(session.Run("1"), OutcomeIs(v1::OUTCOME_OK));
}

TEST_F(SessionLife, TwoCallsAtOnceGetTheSameSessionByItsLabels) {
  v1::GetOrCreateSessionRequest request;
  *request.mutable_create() = PythonSession();
  (*request.mutable_create()->mutable_labels())["thread_id"] = MakeMarker();
  std::vector<std::future<v1::GetOrCreateSessionResponse>> calls;
  calls.reserve(8);
  for (int i = 0; i < 8; ++i) {
    calls.push_back(std::async(std::launch::async, [&] {
      v1::GetOrCreateSessionResponse response;
      EXPECT_THAT(
          CallSessions(client(), &Stub::GetOrCreateSession, request, &response),
          IsOk());
      return response;
    }));
  }
  std::set<std::string> ids;
  int created = 0;
  for (auto& call : calls) {
    const v1::GetOrCreateSessionResponse response = call.get();
    ids.insert(response.session().session_id());
    created += response.created() ? 1 : 0;
  }
  EXPECT_EQ(ids.size(), 1u);
  EXPECT_EQ(created, 1);
  v1::DeleteSessionResponse deleted;
  EXPECT_THAT(
      CallSessions(client(), &Stub::DeleteSession,
                   Named<v1::DeleteSessionRequest>(*ids.begin()), &deleted),
      IsOk());
  v1::GetOrCreateSessionResponse anew;
  ASSERT_THAT(CallSessions(client(), &Stub::GetOrCreateSession, request, &anew),
              IsOk());
  EXPECT_TRUE(anew.created());
  EXPECT_THAT(
      CallSessions(client(), &Stub::DeleteSession,
                   Named<v1::DeleteSessionRequest>(anew.session().session_id()),
                   &deleted),
      IsOk());
}

TEST_F(SessionLife, ListFiltersAndPages) {
  const std::string mark = MakeMarker();
  std::vector<std::unique_ptr<TestSession>> sessions;
  for (int i = 0; i < 5; ++i) {
    v1::CreateSessionRequest request = PythonSession();
    (*request.mutable_labels())["mark"] = mark;
    (*request.mutable_labels())["odd"] = i % 2 == 1 ? "yes" : "no";
    sessions.push_back(std::make_unique<TestSession>(client(), request));
  }
  v1::ListSessionsRequest list;
  (*list.mutable_labels())["mark"] = mark;
  list.set_page_size(2);
  std::vector<std::string> ids;
  int pages = 0;
  do {
    v1::ListSessionsResponse page;
    ASSERT_THAT(CallSessions(client(), &Stub::ListSessions, list, &page),
                IsOk());
    for (const v1::Session& session : page.sessions()) {
      ids.push_back(session.session_id());
    }
    list.set_page_token(page.next_page_token());
    ++pages;
  } while (!list.page_token().empty() && pages < 10);
  EXPECT_EQ(pages, 3);
  ASSERT_EQ(ids.size(), 5u);
  EXPECT_EQ(ids.front(), sessions.back()->id());
  EXPECT_EQ(ids.back(), sessions.front()->id());
  list.set_page_size(0);
  (*list.mutable_labels())["odd"] = "yes";
  v1::ListSessionsResponse odd;
  ASSERT_THAT(CallSessions(client(), &Stub::ListSessions, list, &odd), IsOk());
  EXPECT_EQ(odd.sessions_size(), 2);
}

TEST_F(SessionLife, UpdateChangesLabelsAndTimes) {
  TestSession session(client());
  v1::UpdateSessionRequest update;
  update.set_session_id(session.id());
  update.mutable_idle_timeout()->set_seconds(60);
  (*update.mutable_labels()->mutable_labels())["team"] = "red";
  v1::UpdateSessionResponse updated;
  ASSERT_THAT(CallSessions(client(), &Stub::UpdateSession, update, &updated),
              IsOk());
  EXPECT_EQ(updated.session().idle_timeout().seconds(), 60);
  EXPECT_EQ(updated.session().labels().at("team"), "red");
  EXPECT_EQ(updated.session().max_age().seconds(), 24 * 3600);
  update.mutable_idle_timeout()->set_seconds(1'000'000);
  EXPECT_THAT(CallSessions(client(), &Stub::UpdateSession, update, &updated),
              RefusesField("idle_timeout"));
}

TEST_F(SessionLife, BadRequestsNameTheirFields) {
  v1::CreateSessionRequest request = PythonSession();
  request.set_language("pyhton");
  EXPECT_THAT(TestSession(client(), request).status(),
              RefusesField("language"));
  request = PythonSession();
  request.set_profile("none");
  EXPECT_THAT(TestSession(client(), request).status(), RefusesField("profile"));
  request = PythonSession();
  request.mutable_limits()->set_memory_bytes(uint64_t{1} << 50);
  EXPECT_THAT(TestSession(client(), request).status(),
              RefusesField("limits.memory_bytes"));
  request = PythonSession();
  request.mutable_idle_timeout()->set_nanos(5);
  EXPECT_THAT(TestSession(client(), request).status(),
              RefusesField("idle_timeout"));
  request = PythonSession();
  (*request.mutable_env())["A B"] = "1";
  EXPECT_THAT(TestSession(client(), request).status(),
              RefusesField("env[\"A B\"]"));

  TestSession session(client());
  v1::RunCodeRequest cell = session.Cell("1");
  cell.set_language("rubby");
  EXPECT_THAT(Run(cell), RefusesField("language"));
  cell = session.Cell("1");
  cell.mutable_limits()->set_memory_bytes(uint64_t{64} << 20);
  EXPECT_THAT(Run(cell), RefusesField("limits.memory_bytes"));
  cell = session.Cell("1", "a/b");
  EXPECT_THAT(Run(cell), RefusesField("context"));
  v1::RunCodeRequest stateless = Python("1");
  stateless.set_context("x");
  EXPECT_THAT(Run(stateless), RefusesField("context"));

  TestSession plain(client(), v1::CreateSessionRequest());
  ASSERT_THAT(plain.status(), IsOk());
  const RunResult refused = plain.Run("1");
  EXPECT_THAT(refused, StatusIs(grpc::StatusCode::FAILED_PRECONDITION));
  EXPECT_EQ(ReasonOf(refused.status), "SESSION_WITHOUT_KERNEL");
}

}  // namespace
}  // namespace sandglass::testing
