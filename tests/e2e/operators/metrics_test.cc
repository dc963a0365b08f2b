// The metrics of a real daemon, as Debian's own Prometheus reads them, and who
// else may come to their port.

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/shell.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class MetricsOfDaemon : public OwnDaemonTest {
 protected:
  void SetUp() override {
    StartDaemon({.extra_arguments = {"--metrics", "127.0.0.1:0"}});
    ASSERT_FALSE(HasFatalFailure());
    address_ = RunShell(absl::StrCat(
        SANDGLASS_BINARY, " --address ", daemon().address(),
        " status --json | sed -nE 's/.*\"metricsAddress\":\"([^\"]*)\".*/\\1/p'"
        " | tr -d '\\n'"));
    ASSERT_THAT(address_, StartsWith("127.0.0.1:"));
  }
  // All of them.
  std::string Text() const {
    return RunShell(absl::StrCat("curl -s http://", address_, "/metrics"));
  }
  std::string address_;
};

TEST_F(MetricsOfDaemon, DebiansPrometheusReadsThemAndItsRulesAreQuiet) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_THAT(client().Run(Bash("exit 0")), OutcomeIs(v1::OUTCOME_OK));
  }
  ASSERT_THAT(client().Run(Bash("exit 7")),
              OutcomeIs(v1::OUTCOME_NONZERO_EXIT));
  const std::string said = RunShell(
      absl::StrCat(SANDGLASS_SOURCE_DIR, "/tests/e2e/operators/prometheus.sh ",
                   TEST_CACHE_DIR, " ", address_,
                   " 'sum(sandglass_runs_total{language=\"bash\"})'"
                   " 'sum(sandglass_runs_total{outcome=\"NONZERO_EXIT\"})'"
                   " 'sandglass_ready' 'sum(sandglass_pool_ready) > bool 0'"
                   " 'sandglass_condition{condition=\"isolation\"}' 2>&1"));
  EXPECT_THAT(said, HasSubstr("promtool says nothing wrong\n"));
  EXPECT_THAT(said, HasSubstr("promtool tries the rules: SUCCESS"));
  EXPECT_THAT(said, HasSubstr("rules: 17\n"));
  EXPECT_THAT(said, HasSubstr("up{job=\"sandglass\"} 1\n"));
  EXPECT_THAT(said,
              HasSubstr("sum(sandglass_runs_total{language=\"bash\"}) 4\n"));
  EXPECT_THAT(
      said,
      HasSubstr("sum(sandglass_runs_total{outcome=\"NONZERO_EXIT\"}) 1\n"));
  EXPECT_THAT(said, HasSubstr("sandglass_ready 1\n"));
  EXPECT_THAT(said, HasSubstr("sum(sandglass_pool_ready) > bool 0 1\n"));
  EXPECT_THAT(said,
              HasSubstr("sandglass_condition{condition=\"isolation\"} 1\n"));
  EXPECT_THAT(said, HasSubstr("alerts: \n"));
  StopDaemon();
}

TEST_F(MetricsOfDaemon, MetricsNameNeitherCallersNorRuns) {
  const RunResult run = client().Run(Bash("echo hi"));
  ASSERT_THAT(run, OutcomeIs(v1::OUTCOME_OK));
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("sandglass_runs_total{"));
  EXPECT_THAT(text, HasSubstr("grpc_method=\"RunCode\""));
  EXPECT_THAT(text, Not(HasSubstr(run.response.run_id())));
  EXPECT_THAT(text, Not(HasSubstr("uid:")));
  StopDaemon();
}

TEST_F(MetricsOfDaemon, NonsenseOnTheMetricsPortHarmsNothing) {
  // Too many who say nothing, garbage, a huge head, a path that isn't there.
  RunShell(absl::StrCat("host=", address_, R"( bash 2>/dev/null <<'END'
port=${host##*:}
for i in $(seq 50); do (exec 3<>/dev/tcp/127.0.0.1/$port; sleep 3) & done
head -c 100000 /dev/urandom >/dev/tcp/127.0.0.1/$port
(printf 'GET /metrics HTTP/1.1\r\nx: '; head -c 5000000 /dev/zero) >/dev/tcp/127.0.0.1/$port
curl -s -m 20 -o /dev/null --path-as-is http://$host/../../etc/passwd
wait
END
)"));
  EXPECT_THAT(client().Run(Bash("echo hi")), OutcomeIs(v1::OUTCOME_OK));
  EXPECT_TRUE(
      WaitUntil([&] { return absl::StrContains(Text(), "sandglass_ready 1"); },
                absl::Seconds(30)));
  StopDaemon();
}

TEST_F(MetricsOfDaemon, APortThatIsTakenIsOneClearLine) {
  const std::string said =
      RunShell(absl::StrCat("exec 2>&1; $(dirname ", SANDGLASS_BINARY,
                            ")/sandglassd --listen unix:", daemon().directory(),
                            "/other.sock --state-dir ", daemon().directory(),
                            "/other --metrics ", address_, "; echo exit $?"));
  EXPECT_THAT(said, HasSubstr(absl::StrCat("metrics.listen: can't listen on ",
                                           address_)));
  EXPECT_THAT(said, HasSubstr("exit 1\n"));
  // Nothing was begun that would be left.
  EXPECT_THAT(RunShell(absl::StrCat("ls ", daemon().directory(), "/other")),
              "sandglassd.lock\n");
  StopDaemon();
}

}  // namespace
}  // namespace sandglass::testing
