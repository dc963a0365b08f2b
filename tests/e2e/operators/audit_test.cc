// The audit log of a real daemon: killed, stopped, and without its files.

#include <signal.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "policy/audit/audit_verify.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

constexpr absl::Duration kSettle = absl::Seconds(10);

class Audit : public OwnDaemonTest {
 protected:
  Audit() : place_(MakeTestDirectory()) {}
  ~Audit() override {
    std::error_code ignored;
    fs::remove_all(place_, ignored);
  }

  std::string directory() const { return absl::StrCat(place_, "/audit"); }
  std::string first_file() const {
    return absl::StrCat(directory(), "/", policy::AuditFileName(1));
  }
  std::string Config() const {
    return absl::StrCat(R"({"audit": {"dir": ")", directory(), R"("}})");
  }
  policy::AuditReport Verify() const {
    std::set<std::string> files;
    for (const auto& entry : fs::directory_iterator(directory())) {
      files.insert(entry.path());
    }
    policy::AuditVerifier verifier;
    for (const std::string& file : files) {
      verifier.BeginFile(file);
      verifier.Add(ReadFile(file));
      verifier.EndFile();
    }
    return verifier.Finish();
  }
  // Events of the first file: how many of each, and the runs' ids.
  std::map<std::string, int> Events(std::set<std::string>* runs = nullptr) {
    std::map<std::string, int> events;
    const std::string text = ReadFile(first_file());
    for (const absl::string_view line :
         absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      const auto entry =
          nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
      if (!entry.is_object()) continue;
      const std::string event = entry["event"];
      ++events[event];
      if (event == "run" && runs != nullptr) runs->insert(entry["run_id"]);
    }
    return events;
  }

  const std::string place_;
};

TEST_F(Audit, EveryAnswerHasItsLineAlsoWhenTheDaemonIsKilled) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.config = Config()}));
  std::vector<v1::RunCodeRequest> requests(40, Bash("echo hi"));
  const std::vector<RunResult> results = client().RunAll(requests, 4);
  StreamCall call(client().stub(), Bash("echo ready; sleep 40"));
  ASSERT_TRUE(call.ReadUntil("ready"));
  daemon().Signal(SIGKILL);
  ASSERT_TRUE(daemon().Wait(kSettle).has_value());
  call.Finish();

  std::set<std::string> runs;
  EXPECT_EQ(Events(&runs)["start"], 1);
  EXPECT_EQ(runs.size(), results.size());
  for (const RunResult& result : results) {
    EXPECT_THAT(result, OutcomeIs(v1::OUTCOME_OK));
    EXPECT_EQ(runs.count(result.response.run_id()), 1U);
  }
  auto next =
      Daemon::Start({.config = Config(), .directory = daemon().directory()});
  ASSERT_TRUE(next.ok()) << next.status().message();
  EXPECT_THAT((*next)->client().Run(Bash("echo again")),
              OutcomeIs(v1::OUTCOME_OK));
  const absl::Status stopped = (*next)->Stop();
  EXPECT_TRUE(stopped.ok()) << stopped.message();
  const std::map<std::string, int> events = Events();
  EXPECT_EQ(events.at("start"), 2);
  EXPECT_EQ(events.at("stop"), 1);
  EXPECT_EQ(events.at("run"), 41);
  const policy::AuditReport report = Verify();
  EXPECT_EQ(report.lines, 44U);
  EXPECT_THAT(report.findings, IsEmpty());
}

TEST_F(Audit, DecisionsAndConsentAreOnRecord) {
  const std::string policy = absl::StrCat(place_, "/policy");
  fs::copy(SANDGLASS_SOURCE_DIR "/policy/data", policy,
           fs::copy_options::recursive);
  WriteFile(absl::StrCat(policy, "/profiles/ask.json"), R"({
    "description": "d", "approval": {"self_approval": true},
    "redaction": {"custom": [{"name": "word", "pattern": "s[e]cret"}]},
    "rules": [{"id": "ask-eval", "severity": "require_approval",
               "languages": ["python"], "calls": ["eval"]}]})");
  ASSERT_NO_FATAL_FAILURE(StartDaemon(
      {.config = Config(), .extra_arguments = {"--policy-dir", policy}}));
  v1::RunCodeRequest denied = Python("import os\n");
  denied.set_profile("strict");
  ASSERT_THAT(client().Run(denied), OutcomeIs(v1::OUTCOME_DENIED));
  v1::RunCodeRequest asks = Python("print(eval('\"a secret\"'))\n");
  asks.set_profile("ask");
  const RunResult asked = client().Run(asks);
  ASSERT_THAT(asked, OutcomeIs(v1::OUTCOME_NEEDS_APPROVAL));
  const std::string id = asked.response.approval().approval_id();
  {
    grpc::ClientContext context;
    v1::ApproveRequest approve;
    approve.set_approval_id(id);
    approve.set_comment("fine");
    v1::ApproveResponse approved;
    ASSERT_THAT(client().policy().Approve(&context, approve, &approved),
                IsOk());
  }
  asks.set_approval_id(id);
  const RunResult ran = client().Run(asks);
  ASSERT_THAT(ran, OutcomeIs(v1::OUTCOME_OK));
  EXPECT_EQ(ran.response.stdout().data(), "a [redacted:word]\n");
  ASSERT_EQ(ran.response.redactions_size(), 1);
  EXPECT_EQ(ran.response.redactions(0).count(), 1U);
  EXPECT_EQ(ran.response.approved().approver(), "uid:0");
  StopDaemon();

  std::vector<nlohmann::json> entries;
  for (const absl::string_view line :
       absl::StrSplit(ReadFile(first_file()), '\n', absl::SkipEmpty())) {
    entries.push_back(nlohmann::json::parse(line.begin(), line.end()));
  }
  std::vector<std::string> events;
  events.reserve(entries.size());
  for (const nlohmann::json& entry : entries) events.push_back(entry["event"]);
  ASSERT_THAT(events, ::testing::ElementsAre("start", "run", "approval_asked",
                                             "run", "approval_given",
                                             "approval_used", "run", "stop"));
  EXPECT_EQ(entries[1]["outcome"], "DENIED");
  EXPECT_EQ(entries[1]["findings"][0]["rule"], "only-harmless-modules");
  EXPECT_EQ(entries[1]["findings"][0]["line"], 1);
  EXPECT_EQ(entries[3]["outcome"], "NEEDS_APPROVAL");
  EXPECT_EQ(entries[3]["approval_id"], id);
  EXPECT_EQ(entries[4]["approver"], "uid:0");
  EXPECT_EQ(entries[4]["comment"], "fine");
  EXPECT_EQ(entries[4]["code_sha256"], entries[6]["code_sha256"]);
  EXPECT_EQ(entries[6]["approval_id"], id);
  EXPECT_EQ(entries[6]["redactions"]["word"], 1);
  EXPECT_THAT(Verify().findings, IsEmpty());
}

TEST_F(Audit, WithoutALogNothingRunsAndHealthSaysSo) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.config = Config()}));
  ASSERT_THAT(client().Run(Bash("echo hi")), OutcomeIs(v1::OUTCOME_OK));
  // What is only its file goes on in another.
  fs::remove(first_file());
  const RunResult refused = client().Run(Bash("echo hi"));
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(DetailsOf(refused.status).reason, "AUDIT_UNWRITABLE");
  EXPECT_TRUE(DetailsOf(refused.status).retry_delay.has_value());
  EXPECT_TRUE(WaitUntil(
      [&] { return client().Run(Bash("echo hi")).status.ok(); }, kSettle));
  EXPECT_TRUE(WaitUntil([&] { return client().Serving(); }, kSettle));
  EXPECT_EQ(Verify().tampering, 0U);
  fs::remove_all(directory());
  EXPECT_TRUE(WaitUntil([&] { return !client().Serving(); }, kSettle));
  EXPECT_EQ(DetailsOf(client().Run(Bash("echo hi")).status).reason,
            "AUDIT_UNWRITABLE");
  // As docs/metrics.md has it: who needs the log serves no more.
  for (const char* service : {"Sandbox", "Session", "Exec"}) {
    EXPECT_FALSE(
        client().Serving(absl::StrCat("sandglass.v1.", service, "Service")))
        << service;
  }
  for (const char* service : {"File", "Policy", "Layer", "Operator"}) {
    EXPECT_TRUE(
        client().Serving(absl::StrCat("sandglass.v1.", service, "Service")))
        << service;
  }
  StopDaemon();
}

TEST_F(Audit, ALogWhoseEndWasAlteredIsNotContinued) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.config = Config()}));
  StopDaemon();
  std::string text = ReadFile(first_file());
  text.replace(text.find("\"signal\""), 8, "\"sygnal\"");
  WriteFile(first_file(), text);
  const auto next = Daemon::Start({.config = Config()});
  ASSERT_FALSE(next.ok());
  EXPECT_NE(next.status().message().find("was altered"),
            absl::string_view::npos)
      << next.status().message();
}

}  // namespace
}  // namespace sandglass::testing
