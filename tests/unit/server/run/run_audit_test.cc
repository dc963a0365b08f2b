// Runs in the audit log: their lines, and what becomes of them when those can't
// be written.
#include "server/run/run_audit.h"

#include <fcntl.h>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "policy/audit/audit_verify.h"
#include "server/base/errors.h"
#include "server/daemon/daemon_audit.h"
#include "server/languages/languages.h"
#include "server/run/run_dispatcher.h"
#include "tests/unit/server/installed_gate.h"
#include "tests/unit/server/scripted_runner.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using Json = nlohmann::ordered_json;
using policy::AuditHash;

os::Fd OpenDirectory(const std::string& path) {
  return os::Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

class RunAuditTest : public ::testing::Test {
 protected:
  RunAuditTest() {
    fs::create_directory(path_);
    auto log = AuditLog::Open(OpenDirectory(path_), path_,
                              {.fsync = AuditFsync::kOff});
    EXPECT_TRUE(log.ok()) << log.status();
    log_ = *std::move(log);
    options_.policy = &policy_;
    options_.admission.max_running = 1;
    options_.admission.max_queued = 1;
    options_.admission.max_queued_per_caller = 1;
    options_.admission.memory_budget_bytes = uint64_t{4} << 30;
    options_.runner = &runs_;
    options_.gate = &kInstalled;
  }
  RunDispatcher& dispatcher() {
    if (!dispatcher_) {
      trail_.emplace(*log_, trail_options_);
      audit_.emplace(*trail_);
      options_.audit = &*audit_;
      dispatcher_.emplace(options_);
      dispatcher_->Start();
    }
    return *dispatcher_;
  }
  RunPtr Submit(RecordingListener& listener, v1::RunCodeRequest request) {
    return dispatcher().Submit(User(1), std::move(request), std::nullopt, "",
                               &listener);
  }
  RunPtr Occupy(RecordingListener& listener) {
    auto run = Submit(listener, GoodRequest("wait"));
    EXPECT_TRUE(Eventually([&] { return runs_.started() == 1; }));
    return run;
  }
  std::string LogText() const {
    return testing::ReadFile(path_ + "/" + policy::AuditFileName(1));
  }
  std::vector<Json> Entries() const {
    std::vector<Json> entries;
    const std::string text = LogText();
    for (const absl::string_view line :
         absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      entries.push_back(Json::parse(line.begin(), line.end()));
    }
    return entries;
  }

  TempDir dir_;
  const std::string path_ = dir_.Path("audit");
  const LivePolicy policy_{TestPolicy()};
  ScriptedRuns runs_;
  std::unique_ptr<AuditLog> log_;
  AuditTrailOptions trail_options_;
  std::optional<AuditTrail> trail_;
  std::optional<RunAudit> audit_;
  DispatcherOptions options_;
  RecordingListener first_, second_, third_;
  std::optional<RunDispatcher> dispatcher_;
};

TEST_F(RunAuditTest, ARunsLineIsThereBeforeItsAnswer) {
  v1::RunCodeRequest request = GoodRequest("echo hi");
  request.set_stdin("input");
  request.add_args("secret-argument");
  (*request.mutable_env())["B"] = "secret-value";
  (*request.mutable_env())["A"] = "secret-value";
  (*request.mutable_labels())["task"] = "7";
  request.set_request_id("id-1");
  v1::InputFile& file = *request.add_files();
  file.set_path("data.csv");
  file.set_content("a,b");
  Submit(first_, request);
  const RunEnd end = first_.WaitForEnd();
  ASSERT_TRUE(end.status.ok()) << end.status;
  const auto entries = Entries();
  ASSERT_THAT(entries, SizeIs(1));
  const Json& entry = entries[0];
  EXPECT_EQ(entry["event"], "run");
  EXPECT_EQ(entry["run_id"], end.response->run_id());
  EXPECT_EQ(entry["caller"], "uid:1");
  EXPECT_EQ(entry["lang"], "bash");
  EXPECT_EQ(entry["profile"], "default");
  EXPECT_EQ(entry["request_id"], "id-1");
  EXPECT_EQ(entry["labels"], (Json{{"task", "7"}}));
  EXPECT_EQ(entry["code_sha256"], AuditHash("echo hi"));
  EXPECT_EQ(entry["code_bytes"], 7);
  EXPECT_EQ(entry["args"], 1);
  EXPECT_EQ(entry["env"], Json::array({"A", "B"}));
  EXPECT_EQ(entry["files"], Json::array({{{"path", "data.csv"},
                                          {"sha256", AuditHash("a,b")},
                                          {"bytes", 3}}}));
  EXPECT_EQ(entry["stdin_sha256"], AuditHash("input"));
  EXPECT_EQ(entry["stdin_bytes"], 5);
  EXPECT_EQ(entry["limits"]["wall_time_us"], 30'000'000);
  EXPECT_EQ(entry["limits"]["memory_bytes"], 256 << 20);
  EXPECT_THAT(entry["limits"], SizeIs(12));
  EXPECT_EQ(entry["outcome"], "OK");
  EXPECT_EQ(entry["rule"], end.response->evidence().rule());
  EXPECT_EQ(entry["exit_code"], 0);
  EXPECT_EQ(entry["usage"]["wall_us"], 5000);
  EXPECT_EQ(entry["stdout_bytes"], 7);
  EXPECT_EQ(entry["stderr_bytes"], 0);
  EXPECT_FALSE(entry.contains("code"));
  EXPECT_FALSE(entry.contains("error"));
  EXPECT_FALSE(entry.contains("session_id"));
  EXPECT_THAT(LogText(), Not(HasSubstr("secret")));
  // A repeat gets the same answer, and is no run.
  Submit(second_, request);
  EXPECT_TRUE(second_.WaitForEnd().joined);
  EXPECT_THAT(Entries(), SizeIs(1));
}

TEST_F(RunAuditTest, TheProgramsTextIsThereIfItIsWanted) {
  trail_options_.code = true;
  Submit(first_, GoodRequest("echo \xc3\xa4"));
  first_.WaitForEnd();
  EXPECT_EQ(Entries()[0]["code"], "echo \xc3\xa4");
  // Cut, but not within a character.
  std::string large = "#";
  while (large.size() < (100 << 10)) large += "\xc3\xa4";
  Submit(second_, GoodRequest(large));
  second_.WaitForEnd();
  EXPECT_EQ(Entries()[1]["code"], large.substr(0, (64 << 10) - 1));
  EXPECT_EQ(Entries()[1]["code_bytes"], large.size());
  EXPECT_EQ(Entries()[1]["code_sha256"], AuditHash(large));
}

// A policy whose one language is compiled.
PolicySet CompiledPolicy() {
  policy::Language toy{.id = "toy",
                       .name = "Toy",
                       .extensions = {".toy"},
                       .source_file = "main.toy",
                       .run = {"/bin/sh", "main"},
                       .version = {"/bin/sh", "--version"},
                       .package = "toy"};
  toy.compile = policy::CompilePhase{.command = {"/bin/sh", "${source}"},
                                     .artifacts = {"main"}};
  auto languages = policy::LanguageTable::Create({toy});
  EXPECT_TRUE(languages.ok()) << languages.status();
  auto set = PolicySet::Create(
      *std::move(languages),
      {policy::Profile{.name = "default", .description = "for tests"}});
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

TEST_F(RunAuditTest, WhatACompilerUsedIsThereToo) {
  const LivePolicy compiled{CompiledPolicy()};
  options_.policy = &compiled;
  ScriptedRunner runner([](const Job& job, CancelToken&, RunListener*) {
    JobResult result = OkResult(job, "");
    if (job.phase == policy::Phase::kCompile) {
      result.cpu_user = absl::Milliseconds(7);
      result.files = {{.path = "main", .content = "#!", .mode = 0755}};
    }
    return result;
  });
  options_.runner = &runner;
  v1::RunCodeRequest request = GoodRequest("compiled");
  request.set_language("toy");
  Submit(first_, request);
  first_.WaitForEnd();
  EXPECT_EQ(Entries()[0]["compile_usage"]["cpu_us"], 7000);
  EXPECT_EQ(Entries()[0]["usage"]["cpu_us"], 0);
  // The policy and the runner go before the fixture does.
  dispatcher_.reset();
}

TEST_F(RunAuditTest, RunsThatNeverBeganHaveALineToo) {
  const auto running = Occupy(first_);
  const auto waiting = Submit(second_, GoodRequest("second"));
  Submit(third_, GoodRequest("third"));
  EXPECT_EQ(third_.WaitForEnd().status.code(),
            absl::StatusCode::kResourceExhausted);
  ASSERT_THAT(Entries(), SizeIs(1));
  const Json refused = Entries()[0];
  EXPECT_EQ(refused["error"], "RESOURCE_EXHAUSTED");
  EXPECT_THAT(refused["reason"].get<std::string>(), HasSubstr("QUEUE"));
  EXPECT_EQ(refused["code_sha256"], AuditHash("third"));
  EXPECT_FALSE(refused.contains("outcome"));

  ASSERT_TRUE(dispatcher().Cancel(User(1), waiting->id()).ok());
  second_.WaitForEnd();
  const Json cancelled = Entries()[1];
  EXPECT_EQ(cancelled["outcome"], "CANCELLED");
  EXPECT_EQ(cancelled["run_id"], waiting->id());
  EXPECT_EQ(cancelled["code_sha256"], AuditHash("second"));

  // Nobody hears of this one's end.
  EXPECT_TRUE(dispatcher().Leave(running, &first_));
  EXPECT_TRUE(Eventually([&] { return dispatcher().idle(); }));
  EXPECT_EQ(Entries()[2]["run_id"], running->id());
  EXPECT_EQ(Entries()[2]["outcome"], "CANCELLED");
}

TEST_F(RunAuditTest, OurFailureHasALineAndABadRequestNone) {
  Submit(first_, GoodRequest("fail"));
  first_.WaitForEnd();
  Submit(second_, GoodRequest(""));
  second_.WaitForEnd();
  const auto entries = Entries();
  ASSERT_THAT(entries, SizeIs(1));
  EXPECT_EQ(entries[0]["error"], "INTERNAL");
  EXPECT_EQ(entries[0]["reason"], "JAIL_FAILED");
  EXPECT_THAT(entries[0]["message"].get<std::string>(),
              HasSubstr("mount_proc"));
}

TEST_F(RunAuditTest, AShutdownIsInTheLinesOfThoseItEnds) {
  Occupy(first_);
  Submit(second_, GoodRequest());
  dispatcher().Shutdown();
  first_.WaitForEnd();
  second_.WaitForEnd();
  const auto entries = Entries();
  ASSERT_THAT(entries, SizeIs(2));
  const bool waiting_first = entries[0].contains("error");
  EXPECT_EQ(entries[waiting_first ? 0 : 1]["reason"], "SHUTTING_DOWN");
  EXPECT_EQ(entries[waiting_first ? 1 : 0]["outcome"], "SHUTDOWN");
}

TEST_F(RunAuditTest, NothingRunsWithoutALog) {
  dispatcher();
  fs::remove_all(path_);
  EXPECT_EQ(Submit(first_, GoodRequest()), nullptr);
  const absl::Status status = first_.WaitForEnd().status;
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ErrorReason(status), "AUDIT_UNWRITABLE");
  EXPECT_THAT(std::string(status.message()), HasSubstr(path_));
  EXPECT_EQ(runs_.started(), 0);
  EXPECT_FALSE(trail_->Ready().ok());
}

TEST_F(RunAuditTest, AResultWithoutALineIsWithheld) {
  v1::RunCodeRequest request = GoodRequest("wait");
  request.set_request_id("id");
  Submit(first_, request);
  EXPECT_TRUE(Eventually([&] { return runs_.started() == 1; }));
  fs::remove_all(path_);
  runs_.Release();
  const RunEnd end = first_.WaitForEnd();
  EXPECT_EQ(ErrorReason(end.status), "AUDIT_UNWRITABLE");
  EXPECT_EQ(end.response, nullptr);
  // Nor does a repeat get it.
  Submit(second_, request);
  EXPECT_EQ(ErrorReason(second_.WaitForEnd().status), "AUDIT_UNWRITABLE");
}

TEST_F(RunAuditTest, RunsGoOnWithoutALogIfConfigured) {
  trail_options_.on_failure = AuditFailure::kContinue;
  dispatcher();
  fs::remove_all(path_);
  Submit(first_, GoodRequest());
  EXPECT_TRUE(first_.WaitForEnd().status.ok());
  EXPECT_TRUE(trail_->Ready().ok());
  EXPECT_EQ(runs_.started(), 1);
}

TEST(DaemonAuditTest, WritesStartAndStop) {
  TempDir dir;
  Config config;
  config.audit.dir = dir.path();
  auto audit =
      DaemonAudit::Start(OpenDirectory(dir.path()), config, TestPolicy());
  ASSERT_TRUE(audit.ok()) << audit.status();
  EXPECT_TRUE((*audit)->Healthy().ok());
  (*audit)->Stop("signal");
  const std::string text =
      testing::ReadFile(dir.Path(policy::AuditFileName(1)));
  const std::vector<std::string> lines =
      absl::StrSplit(text, '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(2));
  const Json start = Json::parse(lines[0]);
  EXPECT_EQ(start["event"], "start");
  EXPECT_EQ(start["pid"], ::getpid());
  EXPECT_EQ(start["config_sha256"], AuditHash(ConfigToJson(config)));
  EXPECT_TRUE(start["version"].is_string());
  const Json stop = Json::parse(lines[1]);
  EXPECT_EQ(stop["event"], "stop");
  EXPECT_EQ(stop["reason"], "signal");
}

TEST(DaemonAuditTest, WithoutADirectoryThereIsNoLog) {
  const auto audit = DaemonAudit::Start(os::Fd(), Config(), TestPolicy());
  ASSERT_TRUE(audit.ok());
  EXPECT_EQ(*audit, nullptr);
}

}  // namespace
}  // namespace sandglass::server
