// What an operator sees of a real daemon: `sandglass status`, `top` and
// `usage`, and whose trace a run is.

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/shell.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr char kTrace[] = "0af7651916cd43dd8448eb211c80319c";

class Operator : public OwnDaemonTest {
 protected:
  Operator() : place_(MakeTestDirectory()) {}
  ~Operator() override {
    std::error_code ignored;
    fs::remove_all(place_, ignored);
  }
  void SetUp() override {
    StartDaemon(
        {.config = absl::StrCat(R"({"audit": {"dir": ")", log(), R"("}})")});
  }

  std::string log() const { return absl::StrCat(place_, "/audit"); }
  // Runs a line of /bin/sh with the client as $S and the audit log as $LOG.
  // What it printed, with its exit code behind.
  std::string Script(const std::string& text) {
    return RunShell(
        absl::StrCat("export SANDGLASS_ADDRESS=", daemon().address(),
                     " S=", SANDGLASS_BINARY, " LOG=", log(), "; exec 2>&1; (",
                     text, ") </dev/null; echo \"exit $?\""));
  }
  // The last one of this event.
  std::string LineOfLog(const std::string& event) {
    const std::string log = daemon().LogTail(1000);
    const size_t begin = log.rfind(absl::StrCat(" ", event, " "));
    return begin == std::string::npos
               ? ""
               : log.substr(begin, log.find('\n', begin) - begin);
  }
  Json JsonOf(const std::string& text) {
    const std::string out = Script(text);
    Json json = Json::parse(out.substr(0, out.find('\n')), nullptr, false);
    EXPECT_TRUE(json.is_object()) << out;
    return json;
  }

  const std::string place_;
};

TEST_F(Operator, AHealthyDaemonIsReadyAndSaysWhatItDid) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(client().Run(Bash("exit 0")), OutcomeIs(v1::OUTCOME_OK));
  }
  const std::string text = Script("$S status");
  EXPECT_THAT(text, AllOf(StartsWith("sandglassd "), HasSubstr(" is ready, up"),
                          HasSubstr(" OK\n"), Not(HasSubstr("STRAY")),
                          Not(HasSubstr("FAILS")), EndsWith("exit 0\n")));
  EXPECT_THAT(
      Script("$S top --once --interval 100ms"),
      AllOf(HasSubstr("ENDED"), HasSubstr("bash"), EndsWith("exit 0\n")));
  StopDaemon();
}

TEST_F(Operator, UsageIsTheSameFromTheDaemonAndFromItsAuditLog) {
  EXPECT_THAT(client().Run(Bash("i=0; while [ $i -lt 20000 ]; do "
                                "i=$((i+1)); done")),
              OutcomeIs(v1::OUTCOME_OK));
  EXPECT_THAT(client().Run(Bash("exit 3")),
              OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  const Json daemon = JsonOf("$S usage --json");
  const Json audit = JsonOf("$S usage --json --audit $LOG");
  ASSERT_EQ(daemon["totals"].size(), 1u) << daemon;
  ASSERT_EQ(audit["totals"].size(), 1u) << audit;
  for (const char* key : {"caller", "language", "runs"}) {
    EXPECT_EQ(daemon["totals"][0][key], audit["totals"][0][key]) << key;
  }
  EXPECT_EQ(audit["totals"][0]["runs"], "2");
  // Rounded to whole microseconds, a run at a time.
  const auto memory = [](const Json& usage) {
    return usage["totals"][0]["memoryByteSeconds"].get<double>();
  };
  EXPECT_GT(memory(audit), 0);
  EXPECT_NEAR(memory(daemon) / memory(audit), 1, 0.01);
  const auto seconds = [](const Json& usage) {
    absl::Duration time;
    EXPECT_TRUE(absl::ParseDuration(
        usage["totals"][0]["cpuTime"].get<std::string>(), &time));
    return absl::ToDoubleSeconds(time);
  };
  EXPECT_GT(seconds(audit), 0);
  EXPECT_NEAR(seconds(daemon) / seconds(audit), 1, 0.01);
  StopDaemon();
}

TEST_F(Operator, ARunBelongsToTheTraceOfItsCaller) {
  const std::string set =
      absl::StrCat("TRACEPARENT=00-", kTrace, "-b7ad6b7169203331-01 ");
  EXPECT_THAT(Script(set + "$S run -l bash -c true -v"),
              HasSubstr(absl::StrCat("trace ", kTrace, "\n")));
  EXPECT_EQ(JsonOf(set + "$S run -l bash -c true --json")["traceId"], kTrace);
  EXPECT_THAT(Script("$S audit show $LOG --event run --json"),
              HasSubstr(absl::StrCat("\"trace_id\":\"", kTrace, "\"")));
  EXPECT_THAT(LineOfLog("run_end"), HasSubstr(kTrace));
  Script(absl::StrCat("export ", set,
                      "&& id=$($S session create bash) && "
                      "$S session exec $id -- true"));
  EXPECT_THAT(Script("$S audit show $LOG --event exec --json"),
              HasSubstr(absl::StrCat("\"trace_id\":\"", kTrace, "\"")));
  EXPECT_THAT(LineOfLog("exec_end"), HasSubstr(kTrace));
  StopDaemon();
}

}  // namespace
}  // namespace sandglass::testing
