// Commands and sessions in the audit log of a real daemon, and profiles whose
// rules keep commands out.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "policy/audit/audit_verify.h"
#include "tests/support/calls/execs.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::json;
using ExecStub = v1::ExecService::Stub;

constexpr absl::Duration kSettle = absl::Seconds(10);
class OnRecord : public OwnDaemonTest {
 protected:
  void SetUp() override {
    place_ = MakeTestDirectory();
    fs::copy(SANDGLASS_SOURCE_DIR "/policy/data", policy(),
             fs::copy_options::recursive);
    Profile("redacting", R"({"description": "d", "redaction": {
      "custom": [{"name": "word", "pattern": "s[e]cret"}]}})");
    Profile("warns", R"({"description": "d", "rules": [
      {"id": "loops", "severity": "warn", "endless_loops": true}]})");
    Profile("gate", R"({"description": "d", "rules": [
      {"id": "os", "severity": "deny", "languages": ["python"],
       "modules": ["os"]}]})");
    Profile("open", R"({"description": "d", "commands": "allow", "rules": [
      {"id": "os", "severity": "deny", "languages": ["python"],
       "modules": ["os"]}]})");
    Profile("closed", R"({"description": "d", "commands": "deny"})");
  }
  void TearDown() override {
    execs_.reset();
    OwnDaemonTest::TearDown();
    std::error_code ignored;
    fs::remove_all(place_, ignored);
  }
  std::string policy() const { return absl::StrCat(place_, "/policy"); }
  void Profile(const std::string& name, const std::string& text) const {
    WriteFile(absl::StrCat(policy(), "/profiles/", name, ".json"), text);
  }
  std::string directory() const { return absl::StrCat(place_, "/audit"); }
  void Start(const std::string& more = "") {
    StartDaemon({.config = absl::StrCat(R"({"audit": {"dir": ")", directory(),
                                        "\"", more, "}}"),
                 .extra_arguments = {"--policy-dir", policy()}});
    if (HasFatalFailure()) return;
    execs_ = v1::ExecService::NewStub(grpc::CreateChannel(
        daemon().address(), grpc::InsecureChannelCredentials()));
  }
  static v1::CreateSessionRequest Under(const std::string& profile) {
    v1::CreateSessionRequest request;
    request.set_profile(profile);
    return request;
  }
  std::vector<Json> Lines(const std::string& event = "") const {
    std::vector<Json> lines;
    std::string text;
    for (const auto& entry : fs::directory_iterator(directory())) {
      if (entry.path().extension() == ".jsonl") text += ReadFile(entry.path());
    }
    for (const absl::string_view line :
         absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      Json entry = Json::parse(line.begin(), line.end());
      if (event.empty() || entry["event"] == event) lines.push_back(entry);
    }
    return lines;
  }
  std::vector<std::string> Events() const {
    std::vector<std::string> events;
    for (const Json& line : Lines()) events.push_back(line["event"]);
    return events;
  }
  policy::AuditReport Verify() const {
    policy::AuditVerifier verifier;
    for (const auto& entry : fs::directory_iterator(directory())) {
      if (entry.path().extension() != ".jsonl") continue;
      verifier.BeginFile(entry.path());
      verifier.Add(ReadFile(entry.path()));
      verifier.EndFile();
    }
    return verifier.Finish();
  }

  std::string place_;
  std::unique_ptr<ExecStub> execs_;
};

TEST_F(OnRecord, ACommandAndItsSessionHaveTheirLines) {
  ASSERT_NO_FATAL_FAILURE(Start());
  std::string id;
  {
    v1::CreateSessionRequest request = Under("redacting");
    (*request.mutable_labels())["task"] = "7";
    TestSession session(client(), request);
    id = session.id();
    v1::ExecSpec spec = Command(id, "echo a secret; exit 3");
    (*spec.mutable_env())["TOKEN"] = "hush";
    spec.set_stdin("abc");
    spec.set_exec_id("mine");
    const ExecResult ended = Execute(*execs_, spec);
    ASSERT_THAT(ended.status, IsOk());
    EXPECT_EQ(ended.out(), "a [redacted:word]\n");
    ASSERT_THAT(ended.end->redactions(), SizeIs(1));
    EXPECT_EQ(ended.end->redactions(0).name(), "word");
    EXPECT_EQ(ended.end->redactions(0).count(), 1U);
    // The line is there before the answer.
    const std::vector<Json> lines = Lines("exec");
    ASSERT_THAT(lines, SizeIs(1));
    const Json& line = lines[0];
    EXPECT_EQ(line["exec_id"], "mine");
    EXPECT_EQ(line["caller"], "uid:0");
    EXPECT_EQ(line["session_id"], id);
    EXPECT_EQ(line["profile"], "redacting");
    EXPECT_EQ(line["code_bytes"], 21);
    EXPECT_EQ(line["env"], Json({"TOKEN"}));
    EXPECT_EQ(line["stdin_bytes"], 3);
    EXPECT_EQ(line["outcome"], "NONZERO_EXIT");
    EXPECT_EQ(line["exit_code"], 3);
    EXPECT_EQ(line["redactions"]["word"], 1);
    EXPECT_GT(line["usage"]["wall_us"], 0);
    EXPECT_GT(line["limits"]["memory_bytes"], 0);
    EXPECT_FALSE(line.contains("code"));
    EXPECT_THAT(line.dump(),
                AllOf(Not(HasSubstr("hush")), Not(HasSubstr("secret"))));
    const ExecResult missing = Execute(*execs_, Argv(id, {"no-such-program"}));
    EXPECT_EQ(missing.status.error_code(), grpc::StatusCode::NOT_FOUND);
  }
  StopDaemon();
  EXPECT_THAT(Events(), ElementsAre("start", "session_created", "exec", "exec",
                                    "session_ended", "stop"));
  const std::vector<Json> lines = Lines();
  EXPECT_EQ(lines[1]["session_id"], id);
  EXPECT_EQ(lines[1]["labels"]["task"], "7");
  EXPECT_EQ(lines[3]["error"], "NOT_FOUND");
  EXPECT_EQ(lines[3]["reason"], "PROGRAM_NOT_FOUND");
  EXPECT_EQ(lines[3]["args"], 0);
  EXPECT_FALSE(lines[3].contains("outcome"));
  EXPECT_EQ(lines[4]["reason"], "SESSION_DELETED");
  EXPECT_EQ(lines[4]["by"], "uid:0");
  EXPECT_THAT(Verify().findings, IsEmpty());
}

TEST_F(OnRecord, ProgramTextsAreRecordedWhereConfigured) {
  ASSERT_NO_FATAL_FAILURE(Start(", \"code\": true"));
  TestSession session(client(), v1::CreateSessionRequest());
  ASSERT_THAT(Execute(*execs_, Command(session.id(), "echo hi")).status,
              IsOk());
  ASSERT_THAT(Execute(*execs_, Argv(session.id(), {"echo", "hi"})).status,
              IsOk());
  const std::vector<Json> lines = Lines("exec");
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_EQ(lines[0]["code"], "echo hi");
  EXPECT_EQ(lines[1]["code"], "echo\nhi\n");
  EXPECT_EQ(lines[1]["args"], 1);
  // As `printf 'echo hi' | sha256sum` and `printf 'echo\0hi\0' | sha256sum`.
  EXPECT_EQ(lines[0]["code_sha256"],
            "56a79f3b115448072387c2480044bfa2cf8f90e4f5fddd8c943b4e051b81f80b");
  EXPECT_EQ(lines[1]["code_sha256"],
            "f90045af254cd1f6169be8a9e3d16893572fcc2fb9370a57262fbf116da829b4");
}

TEST_F(OnRecord, WhatRunsAsTheDaemonStopsIsOnRecord) {
  ASSERT_NO_FATAL_FAILURE(Start());
  TestSession session(client(), v1::CreateSessionRequest());
  v1::StartExecRequest request;
  *request.mutable_spec() = Command(session.id(), "sleep 100");
  request.mutable_spec()->set_background(true);
  SetDuration(request.mutable_wait(), absl::ZeroDuration());
  v1::StartExecResponse response;
  ASSERT_THAT(CallExecs(*execs_, &ExecStub::StartExec, request, &response),
              IsOk());
  session.Forget();
  StopDaemon();
  EXPECT_THAT(Events(), ElementsAre("start", "session_created", "exec",
                                    "session_ended", "stop"));
  const Json line = Lines("exec")[0];
  EXPECT_EQ(line["outcome"], "SHUTDOWN");
  EXPECT_EQ(line["background"], true);
  EXPECT_FALSE(line["limits"].contains("wall_time_us"));
  EXPECT_EQ(Lines("session_ended")[0]["reason"], "SESSION_DIED");
}

TEST_F(OnRecord, WithoutALogNoCommandBeginsAndNoEndIsReported) {
  ASSERT_NO_FATAL_FAILURE(Start());
  TestSession session(client(), v1::CreateSessionRequest());
  v1::ExecSpec spec = Command(session.id(), "echo ready; read x");
  spec.set_open_stdin(true);
  ExecStream stream(*execs_, StartOf(spec));
  ASSERT_TRUE(stream.ReadUntil("ready"));
  fs::remove_all(directory());
  const ExecResult refused = Execute(*execs_, Command(session.id(), "true"));
  EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(DetailsOf(refused.status).reason, "AUDIT_UNWRITABLE");
  EXPECT_FALSE(refused.started.has_value());
  TestSession another(client(), v1::CreateSessionRequest());
  EXPECT_EQ(DetailsOf(another.status()).reason, "AUDIT_UNWRITABLE");
  // That one ends when its input does.
  stream.NoMore();
  const ExecResult& withheld = stream.Finish();
  EXPECT_FALSE(withheld.end.has_value());
  EXPECT_EQ(DetailsOf(withheld.status).reason, "AUDIT_UNWRITABLE");
  v1::ListExecsRequest list;
  list.set_session_id(session.id());
  v1::ListExecsResponse execs;
  ASSERT_THAT(CallExecs(*execs_, &ExecStub::ListExecs, list, &execs), IsOk());
  ASSERT_THAT(execs.execs(), SizeIs(1));
  EXPECT_EQ(execs.execs(0).state(), v1::EXEC_STATE_ENDED);
  EXPECT_FALSE(execs.execs(0).has_end());
}

TEST_F(OnRecord, RulesThatGateKeepCommandsOut) {
  ASSERT_NO_FATAL_FAILURE(Start());
  for (const std::string profile : {"gate", "closed", "strict"}) {
    TestSession session(client(), Under(profile));
    ASSERT_THAT(session.status(), IsOk());
    const ExecResult refused =
        Execute(*execs_, Command(session.id(), "echo hi"));
    EXPECT_EQ(refused.status.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_EQ(DetailsOf(refused.status).reason, "COMMANDS_DENIED");
    EXPECT_THAT(refused.status.error_message(),
                AllOf(HasSubstr(profile), HasSubstr("\"commands\"")));
    EXPECT_THAT(refused.status.error_details(),
                AllOf(HasSubstr("profile"), HasSubstr(profile)));
    const Json line = Lines("exec").back();
    EXPECT_EQ(line["reason"], "COMMANDS_DENIED");
    EXPECT_EQ(line["profile"], profile);
  }
  for (const std::string profile : {"warns", "open", "default"}) {
    TestSession session(client(), Under(profile));
    const ExecResult ran = Execute(*execs_, Command(session.id(), "echo hi"));
    EXPECT_EQ(ran.out(), "hi\n") << profile;
  }
}

TEST_F(OnRecord, TheServersInfoTellsWhatProfilesDo) {
  ASSERT_NO_FATAL_FAILURE(Start());
  v1::GetServerInfoResponse info;
  ASSERT_THAT(client().Info(&info), IsOk());
  const auto profile = [&](const std::string& name) {
    for (const v1::ProfileInfo& one : info.profiles()) {
      if (one.name() == name) return one;
    }
    return v1::ProfileInfo();
  };
  EXPECT_EQ(profile("default").rules(), 0U);
  EXPECT_EQ(profile("default").commands(), "allow");
  EXPECT_EQ(profile("gate").rules(), 1U);
  EXPECT_FALSE(profile("gate").asks_for_approval());
  EXPECT_EQ(profile("gate").commands(), "deny");
  EXPECT_THAT(profile("redacting").redactions(), ElementsAre("word"));
  for (const v1::LanguageInfo& language : info.languages()) {
    EXPECT_EQ(language.analysed(),
              language.id() != "bash" && language.id() != "perl")
        << language.id();
  }
}

}  // namespace
}  // namespace sandglass::testing
