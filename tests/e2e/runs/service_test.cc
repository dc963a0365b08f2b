// The rest of the service: lists, cancelling, repeated requests, information,
// health and reflection.

#include <algorithm>
#include <fstream>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/host/process.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class Service : public DaemonTest {
 protected:
  // The run's line in the list; empty when it isn't there.
  static v1::RunSummary Find(const std::string& run_id) {
    v1::ListRunsResponse runs;
    EXPECT_THAT(client().List({}, &runs), IsOk());
    for (const v1::RunSummary& run : runs.runs()) {
      if (run.run_id() == run_id) return run;
    }
    return {};
  }
};

// One that stayed in the group of its starter would keep a delegated group of
// cgroup v2 from handing out controllers.
TEST_F(Service, AllItsProcessesAreInItsControlGroups) {
  const std::vector<Process> processes = daemon().Processes();
  EXPECT_THAT(processes, ::testing::SizeIs(::testing::Ge(3)));
  for (const Process& process : processes) {
    std::ifstream file(absl::StrCat("/proc/", process.pid, "/cgroup"));
    for (std::string line; std::getline(file, line);) {
      if (absl::StartsWith(line, "0::")) {
        EXPECT_THAT(line, HasSubstr("/sandglass-")) << CommandOf(process.pid);
      }
    }
  }
}

constexpr char kEndless[] = "echo ready; sleep 40";

TEST_F(Service, ListShowsARunFromStartToEnd) {
  v1::RunCodeRequest request = Bash(kEndless);
  (*request.mutable_labels())["team"] = "red";
  request.set_request_id(MakeMarker());
  StreamCall call(client().stub(), request);
  ASSERT_TRUE(call.ReadUntil("ready"));
  const v1::RunSummary running = Find(call.run_id());
  EXPECT_EQ(running.state(), v1::RUN_STATE_RUNNING);
  EXPECT_EQ(running.language(), "bash");
  EXPECT_EQ(running.profile(), "default");
  EXPECT_EQ(running.labels().at("team"), "red");
  EXPECT_EQ(running.request_id(), request.request_id());
  EXPECT_EQ(running.caller(), "uid:0");
  EXPECT_GT(ToAbsl(running.elapsed()), absl::ZeroDuration());

  v1::CancelRunResponse cancelled;
  ASSERT_THAT(client().CancelRun(call.run_id(), &cancelled), IsOk());
  EXPECT_EQ(cancelled.run().run_id(), call.run_id());
  EXPECT_THAT(call.Finish(), IsOk());
  ASSERT_TRUE(call.result().has_value());
  EXPECT_EQ(call.result()->outcome(), v1::OUTCOME_CANCELLED);
  EXPECT_EQ(call.result()->evidence().killed_by(), v1::KILLER_DAEMON);

  const v1::RunSummary finished = Find(call.run_id());
  EXPECT_EQ(finished.state(), v1::RUN_STATE_FINISHED);
  EXPECT_EQ(finished.outcome(), v1::OUTCOME_CANCELLED);
}

TEST_F(Service, CancellingAFinishedRunChangesNothing) {
  const RunResult result = Run(Bash("true"));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
  v1::CancelRunResponse cancelled;
  ASSERT_THAT(client().CancelRun(result.response.run_id(), &cancelled), IsOk());
  EXPECT_EQ(cancelled.run().state(), v1::RUN_STATE_FINISHED);
  EXPECT_EQ(cancelled.run().outcome(), v1::OUTCOME_OK);
}

TEST_F(Service, CancellingAnUnknownRunIsNotFound) {
  v1::CancelRunResponse cancelled;
  EXPECT_THAT(client().CancelRun("no-such-run", &cancelled),
              StatusIs(grpc::StatusCode::NOT_FOUND));
}

TEST_F(Service, ListFiltersByLabelAndStateAndGoesByPages) {
  const std::string mark = MakeMarker();
  for (int i = 0; i < 5; ++i) {
    v1::RunCodeRequest request = Bash("true");
    (*request.mutable_labels())["mark"] = mark;
    (*request.mutable_labels())["number"] = absl::StrCat(i);
    ASSERT_THAT(Run(request), OutcomeIs(v1::OUTCOME_OK));
  }
  v1::ListRunsRequest request;
  (*request.mutable_labels())["mark"] = mark;
  request.set_page_size(2);
  std::vector<std::string> numbers;
  for (int page = 0; page < 4; ++page) {
    v1::ListRunsResponse response;
    ASSERT_THAT(client().List(request, &response), IsOk());
    EXPECT_LE(response.runs_size(), 2);
    for (const v1::RunSummary& run : response.runs()) {
      numbers.push_back(run.labels().at("number"));
    }
    request.set_page_token(response.next_page_token());
    if (response.next_page_token().empty()) break;
  }
  EXPECT_THAT(numbers, ::testing::ElementsAre("4", "3", "2", "1", "0"))
      << "newest first, each once";

  v1::ListRunsRequest running;
  (*running.mutable_labels())["mark"] = mark;
  running.add_states(v1::RUN_STATE_RUNNING);
  v1::ListRunsResponse response;
  ASSERT_THAT(client().List(running, &response), IsOk());
  EXPECT_EQ(response.runs_size(), 0);
}

TEST_F(Service, BadListRequestsAreRefused) {
  v1::ListRunsResponse response;
  v1::ListRunsRequest request;
  request.set_page_size(-1);
  EXPECT_THAT(client().List(request, &response),
              RefusesField(std::string("page_size")));
  request.set_page_size(0);
  request.set_page_token("not-a-token");
  EXPECT_THAT(client().List(request, &response),
              RefusesField(std::string("page_token")));
}

TEST_F(Service, ARepeatedRequestIdGetsTheFirstAnswer) {
  v1::RunCodeRequest request =
      Python("import random\nprint(random.getrandbits(128))");
  request.set_request_id(MakeMarker());
  const RunResult first = Run(request);
  const RunResult second = Run(request);
  ASSERT_THAT(first, OutcomeIs(v1::OUTCOME_OK));
  ASSERT_THAT(second, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_FALSE(first.response.replayed());
  EXPECT_TRUE(second.response.replayed());
  EXPECT_EQ(first.response.run_id(), second.response.run_id());
  EXPECT_EQ(first.response.stdout().data(), second.response.stdout().data());
}

TEST_F(Service, ARepeatedRequestIdJoinsARunningRun) {
  v1::RunCodeRequest request = Python(
      "import random, time\ntime.sleep(1.5)\n"
      "print(random.getrandbits(128))");
  request.set_request_id(MakeMarker());
  std::vector<std::future<RunResult>> calls(3);
  for (auto& call : calls) {
    call = std::async(std::launch::async, [&request] { return Run(request); });
  }
  const RunResult first = calls[0].get();
  ASSERT_THAT(first, OutcomeIs(v1::OUTCOME_OK));
  for (size_t i = 1; i < calls.size(); ++i) {
    const RunResult other = calls[i].get();
    ASSERT_THAT(other, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(other.response.run_id(), first.response.run_id());
    EXPECT_EQ(other.response.stdout().data(), first.response.stdout().data());
  }
}

TEST_F(Service, AnotherRequestUnderAUsedIdIsRefused) {
  v1::RunCodeRequest request = Bash("echo one");
  request.set_request_id(MakeMarker());
  ASSERT_THAT(Run(request), OutcomeIs(v1::OUTCOME_OK));
  request.set_code("echo two");
  const RunResult second = Run(request);
  EXPECT_THAT(second, StatusIs(grpc::StatusCode::ALREADY_EXISTS));
  EXPECT_EQ(DetailsOf(second.status).domain, "sandglass.dev");
}

TEST_F(Service, InfoNamesLanguagesWithTheirRealVersions) {
  v1::GetServerInfoResponse info;
  ASSERT_THAT(client().Info(&info), IsOk());
  EXPECT_FALSE(info.version().empty());
  EXPECT_FALSE(info.kernel().empty());
  std::map<std::string, v1::LanguageInfo> languages;
  for (const v1::LanguageInfo& language : info.languages()) {
    languages[language.id()] = language;
  }
  ASSERT_TRUE(languages.contains("python"));
  ASSERT_TRUE(languages.contains("bash"));
  EXPECT_TRUE(languages["python"].available());
  EXPECT_THAT(languages["python"].aliases(), Contains("py"));
  EXPECT_THAT(languages["bash"].aliases(), Contains("sh"));
  EXPECT_THAT(languages["python"].file_extensions(), Contains(".py"));

  // What the programs themselves say.
  const RunResult python =
      Run(Python("import platform\nprint(platform.python_version(), end='')"));
  ASSERT_THAT(python, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(languages["python"].version(),
              HasSubstr(python.response.stdout().data()));
  const RunResult bash = Run(Bash("printf %s ${BASH_VERSION%%(*}"));
  ASSERT_THAT(bash, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(languages["bash"].version(),
              HasSubstr(bash.response.stdout().data()));
}

TEST_F(Service, EveryAliasRunsItsLanguage) {
  v1::GetServerInfoResponse info;
  ASSERT_THAT(client().Info(&info), IsOk());
  for (const v1::LanguageInfo& language : info.languages()) {
    if (language.id() != "python" && language.id() != "bash") continue;
    for (const std::string& alias : language.aliases()) {
      const RunResult result =
          Run(Program(alias, language.id() == "python" ? "pass" : "true"));
      EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK)) << alias;
      EXPECT_EQ(result.response.language(), language.id());
    }
  }
}

TEST_F(Service, InfoNamesProfilesAndLayersInForce) {
  v1::GetServerInfoResponse info;
  ASSERT_THAT(client().Info(&info), IsOk());
  const auto profile = std::find_if(
      info.profiles().begin(), info.profiles().end(),
      [](const v1::ProfileInfo& p) { return p.name() == "default"; });
  ASSERT_NE(profile, info.profiles().end());
  EXPECT_EQ(profile->limits().memory_bytes(), uint64_t{256} << 20);
  EXPECT_GE(profile->maximum_limits().memory_bytes(),
            profile->limits().memory_bytes());
  EXPECT_EQ(profile->network(), "none");
  EXPECT_FALSE(info.isolation().empty());
  for (const v1::IsolationLayer& layer : info.isolation()) {
    EXPECT_FALSE(layer.name().empty());
    if (layer.required()) {
      EXPECT_EQ(layer.state(), v1::LAYER_STATE_IN_FORCE)
          << layer.ShortDebugString();
    }
  }
}

TEST_F(Service, InfoCountsRunsUnderWay) {
  v1::GetServerInfoResponse before;
  ASSERT_THAT(client().Info(&before), IsOk());
  EXPECT_EQ(before.admission().running(), 0U);
  EXPECT_EQ(before.admission().memory_reserved_bytes(), 0U);
  EXPECT_GT(before.admission().max_running(), 0U);
  StreamCall call(client().stub(), Bash(kEndless));
  ASSERT_TRUE(call.ReadUntil("ready"));
  v1::GetServerInfoResponse during;
  ASSERT_THAT(client().Info(&during), IsOk());
  EXPECT_EQ(during.admission().running(), 1U);
  EXPECT_GE(during.admission().memory_reserved_bytes(), uint64_t{256} << 20);
  call.Cancel();
  call.Finish();
  EXPECT_TRUE(WaitUntil(
      [] {
        v1::GetServerInfoResponse after;
        return client().Info(&after).ok() && after.admission().running() == 0 &&
               after.admission().memory_reserved_bytes() == 0;
      },
      absl::Seconds(10)))
      << "a cancelled run must give its memory back";
}

TEST_F(Service, HealthIsServedForServerAndService) {
  EXPECT_TRUE(client().Serving(""));
  EXPECT_TRUE(client().Serving("sandglass.v1.SandboxService"));
  EXPECT_FALSE(client().Serving("no.such.Service"));
}

TEST_F(Service, ReflectionListsTheServiceAndDescribesIt) {
  std::string answer;
  EXPECT_THAT(client().Reflect(&answer), IsOk());
  EXPECT_THAT(answer, HasSubstr("sandglass.v1.SandboxService"));
  EXPECT_THAT(answer, HasSubstr("sandglass/v1/sandbox_service.proto"));
  EXPECT_THAT(answer, HasSubstr("grpc/health/v1/health.proto"));
}

TEST_F(Service, ADeadlineIsACeilingOfTheWallLimit) {
  const RunResult result =
      client().Run(Bash("echo started; sleep 40"), absl::Seconds(5));
  ASSERT_THAT(result, OutcomeIs(v1::OUTCOME_TIMEOUT));
  EXPECT_EQ(result.response.stdout().data(), "started\n");
  EXPECT_LT(ToAbsl(result.response.limits().wall_time()), absl::Seconds(5));
}

}  // namespace
}  // namespace sandglass::testing
