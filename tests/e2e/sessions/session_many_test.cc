// Many sessions, the end of their daemon, and cells that others wrote.

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/host/workloads.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using Json = nlohmann::json;

class ManySessions : public OwnDaemonTest {
 protected:
  // `count` that have run something.
  std::vector<std::unique_ptr<TestSession>> Make(int count) {
    std::vector<std::unique_ptr<TestSession>> sessions;
    for (int i = 0; i < count; ++i) {
      sessions.push_back(std::make_unique<TestSession>(client()));
      EXPECT_THAT(sessions.back()->status(), IsOk());
      EXPECT_THAT(sessions.back()->Run(absl::StrCat("x = ", i)),
                  OutcomeIs(v1::OUTCOME_OK));
      if (HasFailure()) break;
    }
    return sessions;
  }
};

TEST_F(ManySessions, TwoHundredWaitAndEachKnowsItsOwn) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.config = R"({"sessions": {"max": 200},
      "admission": {"memory_budget": "8GiB"}})"}));
  {
    const auto sessions = Make(200);
    ASSERT_EQ(sessions.size(), 200u);
    const grpc::Status full = TestSession(client()).status();
    EXPECT_THAT(full, StatusIs(grpc::StatusCode::RESOURCE_EXHAUSTED));
    EXPECT_EQ(DetailsOf(full).reason, "TOO_MANY_SESSIONS");
    for (size_t i = 0; i < sessions.size(); i += 37) {
      EXPECT_EQ(ValueOf(sessions[i]->Run("x").response), absl::StrCat(i));
    }
    // Programs without a session have room beside them.
    EXPECT_THAT(client().Run(Python("print(1)")), OutcomeIs(v1::OUTCOME_OK));
  }
  StopDaemon();
}

TEST_F(ManySessions, ADaemonThatEndsEndsItsSessions) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  auto sessions = Make(5);
  v1::PauseSessionRequest pause;
  pause.set_session_id(sessions[0]->id());
  v1::PauseSessionResponse paused;
  EXPECT_THAT(CallSessions(client(), &v1::SessionService::Stub::PauseSession,
                           pause, &paused),
              IsOk());
  for (auto& session : sessions) session->Forget();
  // Looks at its exit code and at what it leaves.
  StopDaemon();
}

TEST_F(ManySessions, AKilledDaemonLeavesNothingOfTwenty) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  auto sessions = Make(20);
  daemon().Remember();
  daemon().Signal(SIGKILL);
  ASSERT_TRUE(daemon().Wait(absl::Seconds(10)).has_value());
  for (auto& session : sessions) session->Forget();
  EXPECT_TRUE(WaitUntil([&] { return daemon().Processes().empty(); },
                        absl::Seconds(10)));
  const std::string directory = daemon().directory();
  // The next one starts beside what is left, sweeps it and knows none of them.
  auto next = Daemon::Start({.directory = directory});
  ASSERT_TRUE(next.ok()) << next.status();
  const RunResult late = (*next)->client().Run(sessions[0]->Cell("x"));
  EXPECT_THAT(late, StatusIs(grpc::StatusCode::NOT_FOUND));
  EXPECT_TRUE((*next)->Stop().ok());
}

TEST_F(ManySessions, EarlierRecordedCellsAnswerAsTheyDidThen) {
  const std::string folder = WorkloadFolder();
  if (folder.empty() || !MissingModules({"sympy"}).empty()) {
    const std::string message =
        "NOT RUN: mathcoder_sessions needs the workloads "
        "(SANDGLASS_WORKLOADS) and sympy";
    ASSERT_FALSE(MustRun()) << message;
    GTEST_SKIP() << message;
  }
  ASSERT_NO_FATAL_FAILURE(StartDaemon());
  std::ifstream file(absl::StrCat(folder, "/mathcoder_sessions.jsonl"));
  ASSERT_TRUE(file.good());
  int cells = 0;
  for (std::string line; std::getline(file, line);) {
    const Json conversation = Json::parse(line);
    TestSession session(client());
    for (const Json& cell : conversation["cells"]) {
      const RunResult result = session.Run(cell["code"].get<std::string>());
      ASSERT_THAT(result, IsOk());
      std::string all = result.response.stdout().data();
      for (const v1::RichResult& shown : result.response.results()) {
        absl::StrAppend(&all, shown.data(0).data(), "\n");
      }
      EXPECT_EQ(absl::StripAsciiWhitespace(all),
                absl::StripAsciiWhitespace(
                    cell["expected_output"].get<std::string>()))
          << conversation["id"] << "\n"
          << cell["code"].get<std::string>() << "\n"
          << result.response.error().traceback();
      ++cells;
    }
  }
  EXPECT_GT(cells, 200);
  StopDaemon();
}

}  // namespace
}  // namespace sandglass::testing
