#include "tests/support/calls/durable.h"

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/calls/files.h"
#include "tests/support/temp_dir.h"

namespace sandglass::testing {
namespace {

namespace fs = std::filesystem;
using Stub = v1::SessionService::Stub;

constexpr absl::Duration kEnds = absl::Seconds(30);

}  // namespace

void MakeDurableProfile(const std::string& policy) {
  const std::string profile = ReadFile(policy + "/profiles/default.json");
  WriteFile(policy + "/profiles/durable.json",
            absl::StrReplaceAll(profile, {{"\"session_files\": \"memory\"",
                                           "\"session_files\": \"durable\""}}));
}

DurableTest::DurableTest()
    : policy_(MakeTestDirectory()), kept_(MakeTestDirectory()) {
  fs::copy(std::string(SANDGLASS_SOURCE_DIR) + "/policy/data", policy_,
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  MakeDurableProfile(policy_);
}

DurableTest::~DurableTest() {
  daemon_.reset();
  before_.clear();
  std::error_code ignored;
  fs::remove_all(policy_, ignored);
  fs::remove_all(kept_, ignored);
}

DaemonOptions DurableTest::Options(const std::string& sessions) const {
  DaemonOptions options;
  options.config = absl::StrCat(
      R"({"pool": {"idle_age": "1s"}, "compile_cache": {"max_bytes": 0},)",
      R"( "sessions": {"durable_dir": ")", kept_, "/sessions\"", sessions,
      "}}");
  options.extra_arguments = {"--policy-dir", policy_};
  return options;
}

void DurableTest::Start(const std::string& sessions) {
  ASSERT_NO_FATAL_FAILURE(StartDaemon(Options(sessions)));
}

void DurableTest::Kill() {
  daemon_->Remember();
  daemon_->Signal(SIGKILL);
  ASSERT_TRUE(daemon_->Wait(kEnds).has_value());
}

void DurableTest::Restart(const std::string& sessions) {
  ASSERT_NO_FATAL_FAILURE(Kill());
  DaemonOptions options = Options(sessions);
  options.directory = daemon_->directory();
  before_.push_back(std::move(daemon_));
  ASSERT_NO_FATAL_FAILURE(StartDaemon(options));
}

void DurableTest::RestartInOrder() {
  const absl::Status stopped = daemon_->Stop();
  ASSERT_TRUE(stopped.ok()) << stopped;
  EXPECT_THAT(daemon_->LogTail(),
              ::testing::Not(::testing::HasSubstr("session_not_saved")));
  DaemonOptions options = Options("");
  options.directory = daemon_->directory();
  before_.push_back(std::move(daemon_));
  ASSERT_NO_FATAL_FAILURE(StartDaemon(options));
}

v1::CreateSessionRequest DurableTest::DurableSession(
    const std::string& language) {
  v1::CreateSessionRequest request;
  request.set_language(language);
  request.set_profile("durable");
  return request;
}

std::string DurableTest::Create(const v1::CreateSessionRequest& request) {
  v1::CreateSessionResponse response;
  EXPECT_THAT(CallSessions(client(), &Stub::CreateSession, request, &response),
              IsOk());
  return response.session().session_id();
}

RunResult DurableTest::RunIn(const std::string& id, const std::string& code,
                             const std::string& context) {
  v1::RunCodeRequest request;
  request.set_session_id(id);
  request.set_code(code);
  request.set_context(context);
  return client().Run(request);
}

v1::Session DurableTest::Describe(const std::string& id) {
  v1::GetSessionRequest request;
  request.set_session_id(id);
  v1::GetSessionResponse response;
  EXPECT_THAT(CallSessions(client(), &Stub::GetSession, request, &response),
              IsOk());
  return response.session();
}

std::string DurableTest::Content(const std::string& id,
                                 const std::string& path) {
  std::string content;
  const grpc::Status status = TestFiles(client(), id).Read(path, &content);
  return status.ok() ? content : status.error_message();
}

}  // namespace sandglass::testing
