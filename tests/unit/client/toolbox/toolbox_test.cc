// The tools that models call, against a daemon in this process.

#include "client/toolbox/toolbox.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "client/base/terminal_filter.h"
#include "gmock/gmock.h"
#include "google/rpc/error_details.pb.h"
#include "gtest/gtest.h"
#include "tests/client/fake/fake_daemon.h"

namespace sandglass::client {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

grpc::Status Failed(grpc::StatusCode code, const std::string& reason,
                    const std::string& message) {
  google::rpc::ErrorInfo info;
  info.set_reason(reason);
  return RichStatus(code, message, {&info});
}

class FakeToolbox : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Daemon> opened = OpenDaemon(fake_.address());
    ASSERT_TRUE(opened.ok()) << opened.status();
    daemon_.emplace(*std::move(opened));
    bounds_.text_bytes = 2000;
    bounds_.images = 2;
    bounds_.image_bytes = 100;
    toolbox_.emplace(*daemon_, bounds_);
  }

  ToolAnswer RunCode(const std::string& sandbox_id = "") {
    CodeCall call;
    call.sandbox_id = sandbox_id;
    call.language = "python";
    call.code = "1";
    return toolbox_->RunCode(call, cancel_);
  }
  ToolAnswer AnswerTo(const v1::RunCodeResponse& response,
                      const std::string& sandbox_id = "") {
    fake_.Answer(response);
    return RunCode(sandbox_id);
  }

  FakeDaemon fake_;
  ToolBounds bounds_;
  std::optional<Daemon> daemon_;
  std::optional<Toolbox> toolbox_;
  CallCancel cancel_;
};

TEST_F(FakeToolbox, OnlyARunWithoutASandboxChoosesProfileAndLibraries) {
  CodeCall call;
  call.language = "python";
  call.code = "1";
  call.libraries = {"six"};
  call.profile = "small";
  call.timeout = absl::Seconds(7);
  call.approval_id = "appr-1";
  toolbox_->RunCode(call, cancel_);
  v1::RunCodeRequest sent = fake_.last_request.Get();
  EXPECT_THAT(sent.libraries(), ElementsAre("six"));
  EXPECT_EQ(sent.profile(), "small");
  EXPECT_EQ(sent.limits().wall_time().seconds(), 7);
  EXPECT_EQ(sent.approval_id(), "appr-1");
  EXPECT_THAT(sent.fetch(), Not(IsEmpty()));
  call.sandbox_id = "ses-1";
  toolbox_->RunCode(call, cancel_);
  sent = fake_.last_request.Get();
  EXPECT_EQ(sent.session_id(), "ses-1");
  EXPECT_THAT(sent.libraries(), IsEmpty());
  EXPECT_EQ(sent.profile(), "");
  EXPECT_THAT(sent.fetch(), IsEmpty());
}

TEST_F(FakeToolbox, ARunThatNeedsAnApprovalGivesItsId) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_NEEDS_APPROVAL);
  response.mutable_approval()->set_approval_id("appr-7");
  v1::Finding& finding = *response.add_findings();
  finding.set_rule_id("ask-eval");
  finding.set_severity(v1::SEVERITY_REQUIRE_APPROVAL);
  finding.set_message("calls eval");
  finding.set_path("main.py");
  finding.set_line(3);
  finding.set_column(1);
  finding.set_count(2);
  const ToolAnswer answer = AnswerTo(response);
  EXPECT_EQ(answer.approval_id, "appr-7");
  EXPECT_TRUE(answer.is_error);
  EXPECT_THAT(answer.text,
              AllOf(StartsWith("not run: a person has to approve it first"),
                    HasSubstr("main.py:3:1: require_approval by rule ask-eval: "
                              "calls eval (2 times)"),
                    HasSubstr("approvals approve appr-7"),
                    Not(HasSubstr("(no output)"))));
}

TEST_F(FakeToolbox, ADeniedRunSaysWhichRuleForbidsIt) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_DENIED);
  response.mutable_evidence()->set_explanation("Rule no-sockets forbids it.");
  response.add_findings()->set_rule_id("no-sockets");
  response.set_findings_dropped(3);
  const ToolAnswer answer = AnswerTo(response);
  EXPECT_TRUE(answer.is_error);
  EXPECT_EQ(answer.approval_id, "");
  EXPECT_THAT(
      answer.text,
      AllOf(StartsWith("not run: a rule forbids it: Rule no-sockets"),
            HasSubstr("by rule no-sockets"), HasSubstr("3 more findings")));
}

TEST_F(FakeToolbox, HintsLossesRedactionsAndRefusalsAreTold) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data("out\n");
  v1::Hint& hint = *response.add_hints();
  hint.set_id("missing-module");
  hint.set_message("Name the library six.");
  response.add_hints()->set_id("output-truncated");
  response.mutable_session()->set_state_lost("It was killed.");
  v1::Redaction& redaction = *response.add_redactions();
  redaction.set_name("api-key");
  redaction.set_count(2);
  v1::NetworkRefusal& refusal = *response.mutable_network()->add_refusals();
  refusal.set_target("a.example:80");
  refusal.set_reason("no host of the profile");
  response.mutable_libraries()->set_installed(true);
  response.mutable_libraries()->add_libraries("six==1.16.0");
  const ToolAnswer answer = AnswerTo(response);
  EXPECT_FALSE(answer.is_error);
  EXPECT_THAT(
      answer.text,
      AllOf(StartsWith("exit 0 after 12.3 ms\nout\n"),
            HasSubstr("\nhint: Name the library six.\n"),
            HasSubstr("began with an empty state"),
            HasSubstr("redacted in the output: api-key, 2 times"),
            HasSubstr("a.example:80 was refused: no host of the profile"),
            HasSubstr("installed: six==1.16.0")));
}

TEST_F(FakeToolbox, ASandboxThatLacksALibraryHasToBeMadeWithIt) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_NONZERO_EXIT);
  response.set_exit_code(1);
  v1::Hint& hint = *response.add_hints();
  hint.set_id("missing-library");
  hint.set_message("It is in six.");
  EXPECT_THAT(AnswerTo(response, "ses-1").text,
              AllOf(StartsWith("exit 1"), HasSubstr("It is in six."),
                    HasSubstr("make another with create_sandbox")));
  EXPECT_THAT(AnswerTo(response).text, Not(HasSubstr("create_sandbox")));
}

TEST_F(FakeToolbox, ImagesAreShownWithinTheirBoundsAndOthersAreNamed) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  *response.add_results() = RichOf(
      0, 0,
      {{"text/plain", "<Figure>"}, {"image/png", "p"}, {"text/html", "h"}});
  *response.add_results() =
      RichOf(0, 0, {{"image/jpeg", std::string(101, 'x')}});
  *response.add_results() = RichOf(0, 0, {{"image/gif", "g"}});
  *response.add_results() = RichOf(0, 0, {{"image/png", "third"}});
  *response.add_results() = RichOf(0, 0, {{"text/html", "<b>"}});
  *response.add_results() = RichOf(0, 0, {{"text/markdown", "*m*"}});
  response.mutable_results(5)->set_is_value(true);
  const ToolAnswer answer = AnswerTo(response, "ses-1");
  ASSERT_THAT(answer.images, SizeIs(2));
  EXPECT_EQ(answer.images[0].bytes, "p");
  EXPECT_EQ(answer.images[1].mime_type, "image/gif");
  EXPECT_EQ(answer.text,
            "exit 0 after 12.3 ms\n"
            "--- displayed ---\n"
            "<Figure>\n"
            "[image/png, 1 B, shown as image 1]\n"
            "[image/jpeg, 101 B, too large to be shown]\n"
            "[image/gif, 1 B, shown as image 2]\n"
            "[image/png, 5 B, not shown: there are too many]\n"
            "[text/html, 3 B, not shown]\n"
            "--- value ---\n"
            "*m*\n");
}

TEST_F(FakeToolbox, WhatIsCutIsSavedInTheSandboxAsItWas) {
  v1::RunCodeResponse response = ResponseWith(v1::OUTCOME_OK);
  response.mutable_stdout()->set_data(std::string(3000, '\xff'));
  response.mutable_stderr()->set_data("err");
  const ToolAnswer answer = AnswerTo(response, "ses-1");
  EXPECT_LE(answer.text.size(), bounds_.text_bytes);
  EXPECT_EQ(FindInvalidUtf8(answer.text), absl::string_view::npos);
  const std::string path = "/workspace/.sandglass/outputs/r-1.txt";
  EXPECT_THAT(answer.text, HasSubstr(path));
  EXPECT_EQ(fake_.files.all()[path].content,
            absl::StrCat(std::string(3000, '\xff'), "\n--- stderr ---\nerr"));
}

TEST_F(FakeToolbox, ARunThatWaitsTooLongSaysWhenToTryAgain) {
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(3);
  fake_.FailRuns(RichStatus(grpc::StatusCode::RESOURCE_EXHAUSTED,
                            "the queue is full", {&retry}));
  const ToolAnswer answer = RunCode();
  EXPECT_TRUE(answer.is_error);
  EXPECT_FALSE(answer.sandbox_gone);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("the queue is full"),
                                 HasSubstr("try again in 3.00 s")));
}

TEST_F(FakeToolbox, WrongFieldsAreNamed) {
  google::rpc::BadRequest bad;
  auto* violation = bad.add_field_violations();
  violation->set_field("libraries");
  violation->set_description("no such thing");
  fake_.FailRuns(RichStatus(grpc::StatusCode::INVALID_ARGUMENT,
                            "the request is wrong", {&bad}));
  EXPECT_THAT(RunCode().text, HasSubstr("libraries: no such thing"));
}

TEST_F(FakeToolbox, ASandboxThatHasEndedIsGoneAndNoCommandOfOursIsNamed) {
  fake_.FailRuns(
      Failed(grpc::StatusCode::NOT_FOUND, "SESSION_EXPIRED", "it has ended"));
  const ToolAnswer answer = RunCode("ses-1");
  EXPECT_TRUE(answer.sandbox_gone);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("create_sandbox"),
                                 Not(HasSubstr("sandglass session"))));
}

TEST_F(FakeToolbox, AnApprovalThatIsNotAnsweredYetIsStillWaitedFor) {
  fake_.FailRuns(Failed(grpc::StatusCode::FAILED_PRECONDITION,
                        "APPROVAL_PENDING", "nobody has answered"));
  CodeCall call;
  call.language = "python";
  call.approval_id = "appr-3";
  EXPECT_EQ(toolbox_->RunCode(call, cancel_).approval_id, "appr-3");
}

TEST_F(FakeToolbox, ADaemonThatIsGoneIsTold) {
  fake_.Stop();
  const ToolAnswer answer = RunCode("ses-1");
  EXPECT_TRUE(answer.is_error);
  EXPECT_TRUE(answer.daemon_gone);
  EXPECT_FALSE(answer.sandbox_gone);
  EXPECT_THAT(answer.text,
              StartsWith("no connection to the sandboxes' daemon"));
  EXPECT_TRUE(toolbox_->ListLanguages(cancel_).daemon_gone);
}

TEST_F(FakeToolbox, ArgumentsThatAreNoTextAreNotSent) {
  CodeCall call;
  call.language = "python";
  call.code = "\xff";
  const ToolAnswer answer = toolbox_->RunCode(call, cancel_);
  EXPECT_TRUE(answer.is_error);
  EXPECT_THAT(answer.text, HasSubstr("the code is not UTF-8"));
  EXPECT_EQ(fake_.runs, 0);
  EXPECT_TRUE(toolbox_->ReadFile("ses-1", "\xff", 1, 0, cancel_).is_error);
}

TEST_F(FakeToolbox, ACancelReachesTheDaemon) {
  absl::Notification left;
  fake_.on_stream = [&](grpc::ServerContext& context, const v1::RunCodeRequest&,
                        StreamWriter& writer) {
    SendStarted(writer);
    cancel_.Cancel();
    grpc::Status status = fake_.WaitForCancel(context);
    left.Notify();
    return status;
  };
  const ToolAnswer answer = RunCode();
  EXPECT_TRUE(answer.is_error);
  EXPECT_FALSE(answer.daemon_gone);
  EXPECT_THAT(answer.text, StartsWith("cancelled"));
  left.WaitForNotification();
  EXPECT_TRUE(fake_.cancelled);
}

TEST_F(FakeToolbox, ReadingOnSaysWhatWasLostAndWhereToGoOn) {
  fake_.execs.on_poll_exec = [](const v1::PollExecRequest& request,
                                v1::PollExecResponse& response) {
    EXPECT_EQ(request.from_sequence(), 4U);
    EXPECT_EQ(request.wait().seconds(), 600) << "no more than the daemon takes";
    v1::ExecSnapshot& snapshot = *response.mutable_snapshot();
    snapshot.mutable_exec()->set_exec_id(request.exec_id());
    snapshot.mutable_gap()->set_stdout_bytes(70);
    snapshot.add_output()->set_data("a");
    snapshot.add_output()->set_data("b\n");
    snapshot.set_next_sequence(9);
    return grpc::Status::OK;
  };
  const ToolAnswer answer =
      toolbox_->ReadOutput("ses-1", "exec-1", 4, absl::Hours(1), cancel_);
  EXPECT_FALSE(answer.is_error);
  EXPECT_EQ(answer.text,
            "command exec-1 still runs\nab\n"
            "70 bytes before this were no longer kept\n"
            "It still runs: read_output with command id exec-1 and from 9 goes "
            "on.\n");
}

TEST_F(FakeToolbox, AnImageFileIsAnImageUnlessItIsTooLarge) {
  const std::string png = "\x89PNG\r\n\x1a\n....";
  fake_.files.Put("a.png", {v1::FILE_TYPE_REGULAR, png, 0644});
  fake_.files.Put("b.png",
                  {v1::FILE_TYPE_REGULAR, png + std::string(5000, 'x'), 0644});
  ToolAnswer answer = toolbox_->ReadFile("ses-1", "a.png", 1, 0, cancel_);
  ASSERT_THAT(answer.images, SizeIs(1));
  EXPECT_EQ(answer.images[0].bytes, png);
  answer = toolbox_->ReadFile("ses-1", "b.png", 1, 0, cancel_);
  EXPECT_THAT(answer.images, IsEmpty());
  EXPECT_THAT(answer.text, HasSubstr("too large to be shown"));
  fake_.files.Put("c", {v1::FILE_TYPE_REGULAR, std::string("a\0b", 3), 0644});
  EXPECT_THAT(toolbox_->ReadFile("ses-1", "c", 1, 0, cancel_).text,
              HasSubstr("binary data, 3 B"));
}

TEST_F(FakeToolbox, AFileThatBreaksOffIsAnError) {
  fake_.files.Put("f", {v1::FILE_TYPE_REGULAR, std::string(5000, 'x'), 0644});
  fake_.files.cut_reads = true;
  const ToolAnswer answer = toolbox_->ReadFile("ses-1", "f", 1, 0, cancel_);
  EXPECT_TRUE(answer.is_error);
  EXPECT_THAT(answer.text, HasSubstr("FILE_BUSY_CHANGED"));
}

TEST_F(FakeToolbox, NamesInAListingStayOnTheirLine) {
  v1::FileInfo lie;
  lie.set_path("two\nlines");
  lie.set_type(v1::FILE_TYPE_REGULAR);
  fake_.files.lies = {lie};
  EXPECT_THAT(toolbox_->ListFiles("ses-1", "", cancel_).text,
              HasSubstr("two\\x0alines  0 B\n"));
}

}  // namespace
}  // namespace sandglass::client
