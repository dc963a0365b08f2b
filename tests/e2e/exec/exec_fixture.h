#ifndef SANDGLASS_TESTS_E2E_EXEC_EXEC_FIXTURE_H_
#define SANDGLASS_TESTS_E2E_EXEC_EXEC_FIXTURE_H_

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/support/calls/execs.h"
#include "tests/support/calls/sessions.h"
#include "tests/support/daemon/daemon_fixture.h"
#include "tests/support/wait.h"

namespace sandglass::testing {

using ExecStub = v1::ExecService::Stub;

// Commands in one session, which has no language unless a test makes its own.
class Exec : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    execs_ = v1::ExecService::NewStub(grpc::CreateChannel(
        daemon().address(), grpc::InsecureChannelCredentials()));
    session_ =
        std::make_unique<TestSession>(client(), v1::CreateSessionRequest());
    ASSERT_THAT(session_->status(), IsOk());
  }
  void TearDown() override {
    session_.reset();
    execs_.reset();
    DaemonTest::TearDown();
  }

  ExecStub& execs() { return *execs_; }
  TestSession& session() { return *session_; }
  v1::ExecSpec Command(std::string_view text) const {
    return testing::Command(session_->id(), text);
  }
  v1::ExecSpec Background(std::string_view text) const {
    v1::ExecSpec spec = Command(text);
    spec.set_background(true);
    return spec;
  }
  ExecResult Execute(const v1::ExecSpec& spec) {
    return testing::Execute(*execs_, spec);
  }
  ExecResult Execute(std::string_view text) { return Execute(Command(text)); }
  v1::ExecAttach AttachTo(const std::string& exec_id, uint64_t from = 0) const {
    v1::ExecAttach attach;
    attach.set_session_id(session_->id());
    attach.set_exec_id(exec_id);
    attach.set_from_sequence(from);
    return attach;
  }

  // `wait` negative: until it has ended.
  grpc::Status StartExec(const v1::ExecSpec& spec, absl::Duration wait,
                         v1::StartExecResponse* response) {
    v1::StartExecRequest request;
    *request.mutable_spec() = spec;
    if (wait >= absl::ZeroDuration()) {
      SetDuration(request.mutable_wait(), wait);
    }
    return CallExecs(*execs_, &ExecStub::StartExec, request, response);
  }
  // Its id.
  std::string Begin(const v1::ExecSpec& spec) {
    v1::StartExecResponse response;
    EXPECT_THAT(StartExec(spec, absl::ZeroDuration(), &response), IsOk());
    return response.snapshot().exec().exec_id();
  }
  v1::PollExecRequest PollOf(const std::string& exec_id,
                             uint64_t from = 0) const {
    v1::PollExecRequest request;
    request.set_session_id(session_->id());
    request.set_exec_id(exec_id);
    request.set_from_sequence(from);
    return request;
  }
  grpc::Status Poll(const v1::PollExecRequest& request,
                    v1::ExecSnapshot* snapshot) {
    v1::PollExecResponse response;
    grpc::Status status =
        CallExecs(*execs_, &ExecStub::PollExec, request, &response);
    *snapshot = response.snapshot();
    return status;
  }
  // Sends it a line and waits for what it writes to stdout then, or its end.
  std::string SendLine(const std::string& exec_id, uint64_t from,
                       v1::ExecSnapshot* snapshot) {
    v1::PollExecRequest request = PollOf(exec_id, from);
    request.set_stdin("\n");
    request.set_any_output(true);
    SetDuration(request.mutable_wait(), absl::Seconds(40));
    EXPECT_THAT(Poll(request, snapshot), IsOk());
    return DataOf(*snapshot, v1::OUTPUT_STREAM_STDOUT);
  }
  // At its end, by then at the latest.
  v1::ExecSnapshot Ended(const std::string& exec_id, uint64_t from = 0) {
    v1::PollExecRequest request = PollOf(exec_id, from);
    SetDuration(request.mutable_wait(), absl::Seconds(40));
    v1::ExecSnapshot snapshot;
    EXPECT_THAT(Poll(request, &snapshot), IsOk());
    EXPECT_EQ(snapshot.exec().state(), v1::EXEC_STATE_ENDED);
    return snapshot;
  }
  grpc::Status Stop(const std::string& exec_id, absl::Duration grace,
                    v1::ExecInfo* info) {
    v1::StopExecRequest request;
    request.set_session_id(session_->id());
    request.set_exec_id(exec_id);
    SetDuration(request.mutable_grace(), grace);
    v1::StopExecResponse response;
    grpc::Status status =
        CallExecs(*execs_, &ExecStub::StopExec, request, &response);
    *info = response.exec();
    return status;
  }
  v1::ListExecsResponse List() {
    v1::ListExecsRequest request;
    request.set_session_id(session_->id());
    v1::ListExecsResponse response;
    EXPECT_THAT(CallExecs(*execs_, &ExecStub::ListExecs, request, &response),
                IsOk());
    return response;
  }
  static std::string ReasonOf(const grpc::Status& status) {
    return DetailsOf(status).reason;
  }

 private:
  std::unique_ptr<ExecStub> execs_;
  std::unique_ptr<TestSession> session_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_E2E_EXEC_EXEC_FIXTURE_H_
