// What a tenant's file says is in force, and stays in force when the next one
// is wrong. The tenant is "local": that of all accounts of this machine.

#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "sandglass/v1/exec_service.grpc.pb.h"
#include "sandglass/v1/session_service.grpc.pb.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

using ::testing::HasSubstr;

class Tenants : public OwnDaemonTest {
 protected:
  void SetUp() override {
    directory_ = MakeTestDirectory();
    Write("{}");
  }
  void TearDown() override {
    OwnDaemonTest::TearDown();
    std::filesystem::remove_all(directory_);
  }
  void Write(const std::string& text) const {
    std::ofstream(directory_ + "/local.json") << text;
  }
  v1::PolicyState State() {
    v1::GetServerInfoResponse info;
    EXPECT_THAT(client().Info(&info), IsOk());
    return info.policy();
  }
  // Why what was in force stayed; empty: it didn't.
  std::string Reload(const std::string& text) {
    Write(text);
    const v1::PolicyState before = State();
    daemon().Signal(SIGHUP);
    EXPECT_TRUE(WaitUntil(
        [&] {
          const v1::PolicyState now = State();
          return now.reloads() != before.reloads() ||
                 now.reload_error() != before.reload_error();
        },
        absl::Seconds(30)));
    return State().reload_error();
  }
  grpc::Status Bash(const std::string& code, const std::string& profile = "") {
    v1::RunCodeRequest request;
    request.set_language("bash");
    request.set_code(code);
    request.set_profile(profile);
    return client().Run(request).status;
  }
  static google::rpc::QuotaFailure Quota(const grpc::Status& status) {
    google::rpc::Status details;
    EXPECT_TRUE(details.ParseFromString(status.error_details()));
    google::rpc::QuotaFailure quota;
    for (const auto& any : details.details()) any.UnpackTo(&quota);
    return quota;
  }

  // Runs a command in a session of its own until that is deleted.
  static grpc::Status Sleep(const std::shared_ptr<grpc::Channel>& channel,
                            std::string* session_id) {
    const auto sessions = v1::SessionService::NewStub(channel);
    const auto execs = v1::ExecService::NewStub(channel);
    grpc::ClientContext create;
    v1::CreateSessionResponse created;
    if (grpc::Status status = sessions->CreateSession(&create, {}, &created);
        !status.ok()) {
      return status;
    }
    *session_id = created.session().session_id();
    grpc::ClientContext start;
    v1::StartExecRequest request;
    request.mutable_spec()->set_session_id(*session_id);
    request.mutable_spec()->set_command("sleep 600");
    request.mutable_spec()->set_background(true);
    request.mutable_wait();
    v1::StartExecResponse response;
    return execs->StartExec(&start, request, &response);
  }

  std::string directory_;
};

TEST_F(Tenants, WhatTheirFilesSayHolds) {
  const std::string config =
      absl::StrCat(R"({"tenants_dir": ")", directory_, "\"}");
  ASSERT_NO_FATAL_FAILURE(StartDaemon({.config = config}));
  EXPECT_THAT(Bash("true"), IsOk());

  EXPECT_EQ(Reload(R"({"budgets": {"hour": {"runs": 2}}})"), "");
  EXPECT_THAT(Bash("true"), IsOk());
  EXPECT_THAT(Bash("true"), IsOk());
  grpc::Status refused = Bash("true");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("tenant local has used 2 of 2 (budgets.hour.runs"));
  ASSERT_EQ(Quota(refused).violations_size(), 1);
  EXPECT_EQ(Quota(refused).violations(0).subject(), "tenant:local");

  // Nothing of a wrong one is taken, and what was in force holds.
  EXPECT_THAT(Reload(R"({"budgets": {"hour": {"run": 9}}})"),
              HasSubstr("local.json: /budgets/hour/run"));
  EXPECT_EQ(Bash("true").error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(WEXITSTATUS(daemon().Command("--reload")), 0);

  EXPECT_EQ(Reload(R"({"profiles": ["default"],
                       "ceilings": {"running": 1, "queued": 1}})"),
            "");
  refused = Bash("true", "large");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("tenant local may not use profile \"large\""));
  // One goes on, one waits; a third is one too many.
  std::vector<std::thread> others;
  const auto queued = [&] {
    v1::GetServerInfoResponse info;
    EXPECT_THAT(client().Info(&info), IsOk());
    return info.admission().running() * 10 + info.admission().queued();
  };
  for (const uint32_t want : {10, 11}) {
    others.emplace_back([&] { EXPECT_THAT(Bash("sleep 2"), IsOk()); });
    EXPECT_TRUE(WaitUntil([&] { return queued() == want; }, absl::Seconds(10)));
  }
  refused = Bash("true");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("tenant local has 1 of at most 1 (ceilings.queued"));
  for (std::thread& other : others) other.join();
  EXPECT_THAT(Bash("true"), IsOk());

  // What there is counts, although the file came later.
  const auto channel = grpc::CreateChannel(daemon().address(),
                                           grpc::InsecureChannelCredentials());
  std::string first;
  std::string second;
  EXPECT_THAT(Sleep(channel, &first), IsOk());
  EXPECT_EQ(Reload(R"({"ceilings": {"sessions": 2, "execs": 1}})"), "");
  refused = Sleep(channel, &second);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("tenant local has 1 of at most 1 (ceilings.execs"));
  refused = Sleep(channel, &second);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("tenant local has 2 of at most 2 (ceilings.sessions"));
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  const auto sessions = v1::SessionService::NewStub(channel);
  for (const std::string& id : {first, second}) {
    grpc::ClientContext context;
    v1::DeleteSessionRequest request;
    request.set_session_id(id);
    v1::DeleteSessionResponse response;
    EXPECT_THAT(sessions->DeleteSession(&context, request, &response), IsOk());
  }
}

TEST_F(Tenants, WhatTheyHaveUsedCountsAfterARestart) {
  Write(R"({"budgets": {"hour": {"runs": 2}}})");
  DaemonOptions options{
      .config = absl::StrCat(R"({"tenants_dir": ")", directory_, "\"}")};
  ASSERT_NO_FATAL_FAILURE(StartDaemon(options));
  EXPECT_THAT(Bash("true"), IsOk());
  daemon().Signal(SIGTERM);
  ASSERT_TRUE(daemon().Wait(absl::Seconds(30)).has_value());

  options.directory = daemon().directory();
  auto second = Daemon::Start(options);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_THAT((*second)->client().Run(testing::Bash("true")), IsOk());
  // One that is killed has written it down a little earlier.
  absl::SleepFor(absl::Seconds(6));
  (*second)->Signal(SIGKILL);
  ASSERT_TRUE((*second)->Wait(absl::Seconds(30)).has_value());

  auto third = Daemon::Start(options);
  ASSERT_TRUE(third.ok()) << third.status();
  EXPECT_EQ((*third)->client().Run(testing::Bash("true")).status.error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  const absl::Status stopped = (*third)->Stop();
  EXPECT_TRUE(stopped.ok()) << stopped.message();
}

}  // namespace
}  // namespace sandglass::testing
