#include "server/run/approvals.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/run/approval_of_run.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ApprovalSubject Subject(const Identity& caller, const std::string& fingerprint,
                        bool self = false, const std::string& session = "") {
  ApprovalSubject subject;
  subject.fingerprint = fingerprint;
  subject.caller = caller;
  subject.expires_after = absl::Minutes(10);
  subject.shown.set_code("print(1)");
  subject.shown.set_profile("p");
  subject.shown.set_self_approval(self);
  subject.shown.set_session_id(session);
  v1::Finding& finding = *subject.shown.add_findings();
  finding.set_rule_id("r");
  finding.set_severity(v1::SEVERITY_REQUIRE_APPROVAL);
  v1::Finding& note = *subject.shown.add_findings();
  note.set_rule_id("n");
  note.set_severity(v1::SEVERITY_NOTE);
  return subject;
}

v1::ApproveRequest Approving(const std::string& id, bool for_session = false) {
  v1::ApproveRequest request;
  request.set_approval_id(id);
  request.set_comment("ok");
  request.set_for_session(for_session);
  return request;
}

v1::DenyRequest Denying(const std::string& id) {
  v1::DenyRequest request;
  request.set_approval_id(id);
  request.set_comment("no");
  return request;
}

class Approvals : public ::testing::Test, public ApprovalRecorder {
 protected:
  absl::Status WriteApproval(const std::string& event,
                             const v1::Approval& approval) override {
    events_.push_back(absl::StrCat(event, " ", approval.approver()));
    return recording_;
  }
  std::string Ask(const ApprovalSubject& subject) {
    const absl::StatusOr<v1::ApprovalNeeded> needed = table_.Ask(subject);
    EXPECT_TRUE(needed.ok()) << needed.status();
    return needed.ok() ? needed->approval_id() : "";
  }
  void Pass(absl::Duration time) { now_ += absl::ToChronoNanoseconds(time); }
  static std::string Message(const absl::Status& status) {
    return std::string(status.message());
  }

  const Identity alice_ = User(1000);
  const Identity bob_ = Approver(1001);
  const Identity root_ = User(0);
  MonotonicTime now_ = Now();
  std::vector<std::string> events_;
  absl::Status recording_;
  ApprovalTable table_{{.max_pending = 4,
                        .max_pending_per_caller = 3,
                        .max_kept = 6,
                        .max_bytes = 1000},
                       this,
                       [this] { return now_; }};
};

TEST_F(Approvals, AnApproverAnswersForItsOwnTenantAlone) {
  Identity ci = OwnerNamed("team-a/ci");
  const std::string id = Ask(Subject(ci, "f"));
  Identity theirs = OwnerNamed("team-b/boss");
  theirs.scopes = {Scope::kApprove};
  Identity ours = OwnerNamed("team-a/boss");
  ours.scopes = {Scope::kApprove};
  // Not even whether it is there.
  EXPECT_EQ(table_.Get(theirs, id).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(table_.Get(bob_, id).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(table_.List(theirs, {}).approvals_size(), 0);
  EXPECT_EQ(table_.List(ours, {}).approvals_size(), 1);
  v1::ApproveRequest request;
  request.set_approval_id(id);
  EXPECT_EQ(table_.Approve(theirs, request).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(table_.Approve(ours, request).ok());
  theirs.scopes.Add(Scope::kOperate);
  EXPECT_TRUE(table_.Get(theirs, id).ok());
}

TEST_F(Approvals, AnApprovalIsForOneRunAndOnce) {
  const std::string id = Ask(Subject(alice_, "f"));
  EXPECT_EQ(Ask(Subject(alice_, "f")), id);
  EXPECT_NE(Ask(Subject(alice_, "g")), id);
  EXPECT_THAT(Message(table_.Check(id, alice_, "f")),
              HasSubstr("nobody has answered"));
  ASSERT_TRUE(table_.Approve(bob_, Approving(id)).ok());
  EXPECT_TRUE(table_.Check(id, alice_, "f").ok());
  EXPECT_THAT(Message(table_.Check(id, alice_, "g")), HasSubstr("another run"));
  EXPECT_THAT(Message(table_.Check(id, bob_, "f")), HasSubstr("no approval"));
  const absl::StatusOr<v1::Approval> used = table_.Use(id, alice_, "f");
  ASSERT_TRUE(used.ok()) << used.status();
  EXPECT_EQ(used->approver(), "uid:1001");
  EXPECT_EQ(used->state(), v1::APPROVAL_STATE_USED);
  EXPECT_THAT(Message(table_.Use(id, alice_, "f").status()),
              HasSubstr("used up"));
  EXPECT_THAT(events_,
              ElementsAre("approval_asked ", "approval_asked ",
                          "approval_given uid:1001", "approval_used uid:1001"));
  // The next try asks anew.
  EXPECT_NE(Ask(Subject(alice_, "f")), id);
}

TEST_F(Approvals, OnlyApproversAnswerAndNotTheirOwnRuns) {
  const std::string id = Ask(Subject(alice_, "f"));
  const auto code = [](const auto& result) { return result.status().code(); };
  EXPECT_EQ(code(table_.Approve(alice_, Approving(id))),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(code(table_.Approve(User(1002), Approving(id))),
            absl::StatusCode::kNotFound);
  Identity tcp;
  tcp.name = "tcp:127.0.0.1";
  EXPECT_EQ(code(table_.Approve(tcp, Approving(id))),
            absl::StatusCode::kNotFound);
  const std::string own = Ask(Subject(bob_, "b"));
  EXPECT_EQ(code(table_.Approve(bob_, Approving(own))),
            absl::StatusCode::kPermissionDenied);
  const std::string roots = Ask(Subject(root_, "r"));
  EXPECT_EQ(code(table_.Approve(root_, Approving(roots))),
            absl::StatusCode::kPermissionDenied);
  EXPECT_TRUE(table_.Approve(root_, Approving(own)).ok());
  // What the profile lets them do.
  const std::string self = Ask(Subject(alice_, "s", true));
  EXPECT_TRUE(table_.Approve(alice_, Approving(self)).ok());
  // Each may take back what it asked for.
  EXPECT_TRUE(table_.Deny(alice_, Denying(id)).ok());
}

TEST_F(Approvals, AnAnswerIsGivenOnce) {
  const std::string id = Ask(Subject(alice_, "f"));
  ASSERT_TRUE(table_.Approve(bob_, Approving(id)).ok());
  EXPECT_THAT(Message(table_.Approve(bob_, Approving(id)).status()),
              HasSubstr("is approved already"));
  // Until it is used it can be taken back.
  ASSERT_TRUE(table_.Deny(bob_, Denying(id)).ok());
  EXPECT_THAT(Message(table_.Use(id, alice_, "f").status()),
              HasSubstr("uid:1001 denied approval"));
  EXPECT_THAT(Message(table_.Use(id, alice_, "f").status()),
              HasSubstr("\"no\""));
  EXPECT_FALSE(table_.Approve(bob_, Approving(id)).ok());
}

TEST_F(Approvals, ApprovalsExpireAndAreForgotten) {
  const std::string id = Ask(Subject(alice_, "f"));
  ASSERT_TRUE(table_.Approve(bob_, Approving(id)).ok());
  Pass(absl::Minutes(10));
  EXPECT_THAT(Message(table_.Use(id, alice_, "f").status()),
              HasSubstr("has expired"));
  EXPECT_FALSE(table_.Approve(bob_, Approving(id)).ok());
  Pass(absl::Minutes(10));
  EXPECT_THAT(Message(table_.Use(id, alice_, "f").status()),
              HasSubstr("there is no approval"));
}

TEST_F(Approvals, PendingApprovalsAreBounded) {
  for (const char* fingerprint : {"1", "2", "3"}) {
    Ask(Subject(alice_, fingerprint));
  }
  EXPECT_EQ(table_.Ask(Subject(alice_, "4")).status().code(),
            absl::StatusCode::kResourceExhausted);
  Ask(Subject(bob_, "5"));
  EXPECT_EQ(table_.Ask(Subject(User(1003), "6")).status().code(),
            absl::StatusCode::kResourceExhausted);
  // Those that expired make room; texts are bounded, too.
  Pass(absl::Minutes(21));
  ApprovalSubject large = Subject(alice_, "7");
  large.shown.set_code(std::string(1001, 'x'));
  EXPECT_EQ(table_.Ask(large).status().code(),
            absl::StatusCode::kResourceExhausted);
  Ask(Subject(alice_, "8"));
  v1::ApproveRequest wordy = Approving("appr-1");
  wordy.set_comment(std::string(1025, 'x'));
  EXPECT_EQ(table_.Approve(bob_, wordy).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(Approvals, TextsOfFilesAreKeptOnlyWhereThereIsRoom) {
  const auto with_file = [&](const std::string& fingerprint, size_t size) {
    ApprovalSubject subject = Subject(alice_, fingerprint, true);
    v1::ApprovalInput& file = *subject.shown.add_files();
    file.set_path("data.txt");
    file.set_sha256("00ff");
    file.set_text(std::string(size, 'x'));
    subject.shown.mutable_stdin()->set_text("in");
    return subject;
  };
  const std::string fits = Ask(with_file("f", 500));
  EXPECT_THAT(table_.Get(alice_, fits)->files(0).text(), SizeIs(500));
  EXPECT_EQ(table_.Get(alice_, fits)->stdin().text(), "in");
  const v1::ListApprovalsResponse listed = table_.List(alice_, {});
  ASSERT_THAT(listed.approvals(), SizeIs(1));
  EXPECT_FALSE(listed.approvals(0).files(0).has_text());
  // What doesn't fit isn't read, but asked about.
  const std::string large = Ask(with_file("g", 500));
  EXPECT_FALSE(table_.Get(alice_, large)->files(0).has_text());
  EXPECT_FALSE(table_.Get(alice_, large)->stdin().has_text());
  EXPECT_EQ(table_.Get(alice_, large)->files(0).sha256(), "00ff");
  EXPECT_EQ(table_.Get(alice_, large)->code(), "print(1)");
  // Nor is it kept of what was answered.
  ASSERT_TRUE(table_.Deny(alice_, Denying(fits)).ok());
  EXPECT_FALSE(table_.Get(alice_, fits)->files(0).has_text());
  EXPECT_EQ(table_.Get(alice_, fits)->files(0).path(), "data.txt");
  const std::string again = Ask(with_file("h", 500));
  EXPECT_TRUE(table_.Get(alice_, again)->files(0).has_text());
}

TEST_F(Approvals, ARuleCanBeApprovedForASession) {
  const std::string without = Ask(Subject(alice_, "f", true));
  EXPECT_EQ(table_.Approve(alice_, Approving(without, true)).status().code(),
            absl::StatusCode::kInvalidArgument);
  const std::string id = Ask(Subject(alice_, "g", true, "ses-1"));
  EXPECT_FALSE(table_.ApprovedForSession("ses-1", "r"));
  ASSERT_TRUE(table_.Approve(alice_, Approving(id, true)).ok());
  EXPECT_TRUE(table_.ApprovedForSession("ses-1", "r"));
  EXPECT_FALSE(table_.ApprovedForSession("ses-1", "n"));
  EXPECT_FALSE(table_.ApprovedForSession("ses-2", "r"));
}

policy::Findings Found(const std::vector<std::string>& rules) {
  policy::Findings findings;
  for (const std::string& rule : rules) {
    findings.list.push_back(
        {.rule = rule, .severity = policy::Severity::kRequireApproval});
  }
  findings.list.push_back({.rule = "n", .severity = policy::Severity::kNote});
  return findings;
}

TEST_F(Approvals, ASessionsApprovalLetsRunWhatItCovers) {
  ApprovalOfRun run(table_, std::make_shared<const ApprovalSubject>(
                                Subject(alice_, "g", true, "ses-1")));
  ASSERT_TRUE(run.Approve(Found({"r"})).ok());
  EXPECT_FALSE(run.Approve(Found({"r"}))->has_value());
  const std::string id = Ask(Subject(alice_, "f", true, "ses-1"));
  ASSERT_TRUE(table_.Approve(alice_, Approving(id, true)).ok());
  const auto approved = run.Approve(Found({"r"}));
  ASSERT_TRUE(approved.ok() && approved->has_value());
  EXPECT_EQ((*approved)->approval_id, id);
  EXPECT_TRUE((*approved)->for_session);
  EXPECT_FALSE(run.Approve(Found({"loop"}))->has_value());
  EXPECT_FALSE(run.Approve(Found({"r", "loop"}))->has_value());
  policy::Findings too_many = Found({"r"});
  too_many.dropped = 1;
  EXPECT_FALSE(run.Approve(too_many)->has_value());
  // One without a session is covered by none.
  ApprovalOfRun alone(table_, std::make_shared<const ApprovalSubject>(
                                  Subject(alice_, "g", true)));
  EXPECT_FALSE(alone.Approve(Found({"r"}))->has_value());
}

TEST_F(Approvals, ANamedApprovalIsUsedUpWhenItsRunBegins) {
  ApprovalOfRun run(
      table_, std::make_shared<const ApprovalSubject>(Subject(alice_, "f")));
  const std::string id = Ask(Subject(alice_, "f"));
  EXPECT_THAT(Message(run.Name(id, "f")), HasSubstr("nobody has answered"));
  ASSERT_TRUE(table_.Approve(bob_, Approving(id)).ok());
  EXPECT_TRUE(run.Name(id, "f").ok());
  EXPECT_TRUE(table_.Check(id, alice_, "f").ok());
  const auto approved = run.Approve(Found({"r"}));
  ASSERT_TRUE(approved.ok() && approved->has_value());
  EXPECT_EQ((*approved)->approver, "uid:1001");
  EXPECT_FALSE((*approved)->for_session);
  EXPECT_THAT(Message(run.Approve(Found({"r"})).status()),
              HasSubstr("used up"));
}

TEST_F(Approvals, WhatWasNotLookedAtIsApprovedForOneRunOnly) {
  ApprovalSubject subject = Subject(alice_, "f", true, "ses-1");
  v1::Finding& failed = *subject.shown.add_findings();
  failed.set_rule_id("analysis-failed");
  failed.set_severity(v1::SEVERITY_REQUIRE_APPROVAL);
  ASSERT_TRUE(table_.Approve(alice_, Approving(Ask(subject), true)).ok());
  EXPECT_TRUE(table_.ApprovedForSession("ses-1", "r"));
  EXPECT_FALSE(table_.ApprovedForSession("ses-1", "analysis-failed"));
}

TEST_F(Approvals, EndedApprovalsMakeRoomAndKeepNoText) {
  for (int i = 0; i < 20; ++i) {
    const std::string fingerprint = absl::StrCat("f", i);
    const std::string id = Ask(Subject(alice_, fingerprint, true));
    ASSERT_TRUE(table_.Approve(alice_, Approving(id)).ok());
    EXPECT_EQ(table_.Get(alice_, id)->code(), "print(1)");
    ASSERT_TRUE(table_.Use(id, alice_, fingerprint).ok());
    EXPECT_EQ(table_.Get(alice_, id)->code(), "");
  }
  v1::ListApprovalsRequest used;
  used.add_states(v1::APPROVAL_STATE_USED);
  EXPECT_THAT(table_.List(alice_, used).approvals(), SizeIs(6));
  // Those that can still be used don't.
  for (int i = 0; i < 6; ++i) {
    const std::string id = Ask(Subject(alice_, absl::StrCat("g", i), true));
    ASSERT_TRUE(table_.Approve(alice_, Approving(id)).ok());
  }
  EXPECT_EQ(table_.Ask(Subject(alice_, "h")).status().code(),
            absl::StatusCode::kResourceExhausted);
}

// Neither what one caller keeps nor its texts are in another's way.
TEST_F(Approvals, OneCallersApprovalsLeaveRoomForOthers) {
  for (int i = 0; i < 6; ++i) {
    const std::string id = Ask(Subject(alice_, absl::StrCat("g", i), true));
    ASSERT_TRUE(table_.Approve(alice_, Approving(id)).ok());
  }
  EXPECT_NE(Ask(Subject(User(1003), "f")), "");
  Pass(absl::Hours(2));
  ApprovalSubject large = Subject(alice_, "l");
  large.shown.set_code(std::string(740, 'x'));
  EXPECT_NE(Ask(large), "");
  ApprovalSubject more = Subject(alice_, "m");
  more.shown.set_code(std::string(200, 'x'));
  EXPECT_EQ(table_.Ask(more).status().code(),
            absl::StatusCode::kResourceExhausted);
  ApprovalSubject others = Subject(User(1003), "o");
  others.shown.set_code(std::string(200, 'x'));
  EXPECT_NE(Ask(others), "");
}

TEST_F(Approvals, ApprovalsAreListedToTheirCallersAndApprovers) {
  const std::string alices = Ask(Subject(alice_, "f"));
  const std::string bobs = Ask(Subject(bob_, "g"));
  EXPECT_THAT(table_.List(alice_, {}).approvals(), SizeIs(1));
  EXPECT_THAT(table_.List(User(5), {}).approvals(), IsEmpty());
  const v1::ListApprovalsResponse all = table_.List(bob_, {});
  ASSERT_THAT(all.approvals(), SizeIs(2));
  EXPECT_EQ(all.approvals(0).code(), "");
  EXPECT_EQ(table_.Get(bob_, alices)->code(), "print(1)");
  EXPECT_FALSE(table_.Get(alice_, bobs).ok());
  ASSERT_TRUE(table_.Approve(bob_, Approving(alices)).ok());
  EXPECT_THAT(table_.List(alice_, {}).approvals(), IsEmpty());
  v1::ListApprovalsRequest approved;
  approved.add_states(v1::APPROVAL_STATE_APPROVED);
  EXPECT_THAT(table_.List(alice_, approved).approvals(), SizeIs(1));
}

TEST_F(Approvals, AnAnswerThatCannotBeRecordedIsRefused) {
  const std::string id = Ask(Subject(alice_, "f"));
  recording_ = absl::UnavailableError("the disk is full");
  EXPECT_FALSE(table_.Ask(Subject(alice_, "g")).ok());
  EXPECT_FALSE(table_.Approve(bob_, Approving(id)).ok());
  EXPECT_THAT(Message(table_.Check(id, alice_, "f")),
              HasSubstr("nobody has answered"));
  recording_ = absl::OkStatus();
  ASSERT_TRUE(table_.Approve(bob_, Approving(id)).ok());
  recording_ = absl::UnavailableError("the disk is full");
  EXPECT_FALSE(table_.Use(id, alice_, "f").ok());
  recording_ = absl::OkStatus();
  EXPECT_TRUE(table_.Use(id, alice_, "f").ok());
}

TEST(ApprovalFingerprint, IsOfAllThatTheRunIs) {
  v1::RunCodeRequest request;
  request.set_code("1");
  request.set_request_id("a");
  request.set_approval_id("b");
  (*request.mutable_labels())["c"] = "d";
  Identity caller = User(7);
  request.set_stdin("in");
  v1::InputFile& file = *request.add_files();
  file.set_path("data");
  file.set_content("content");
  const v1::RunCodeRequest before = request;
  policy::Profile profile;
  profile.canonical = "{}";
  v1::Limits limits;
  // As the daemon does: what a job is made of is asked about first.
  const auto fingerprint = [&] {
    const ApprovalSubject subject = AskedAbout(caller, request);
    RunInputs inputs = InputsOf(request);
    Job job;
    job.code = request.code();
    job.stdin_data = request.stdin();
    for (const v1::InputFile& each : request.files()) {
      job.files.push_back({.path = each.path(), .content = each.content()});
    }
    AddDigests(job, /*with_code=*/false, inputs);
    return FingerprintOfRun(subject, inputs, limits, profile);
  };
  const std::string whole = fingerprint();
  EXPECT_EQ(request.SerializeAsString(), before.SerializeAsString());
  request.clear_request_id();
  request.clear_approval_id();
  request.clear_labels();
  EXPECT_EQ(fingerprint(), whole);

  const auto differs = [&](const std::function<void()>& change) {
    const v1::RunCodeRequest old = request;
    change();
    EXPECT_NE(fingerprint(), whole);
    request = old;
    EXPECT_EQ(fingerprint(), whole);
  };
  differs([&] { request.set_code("2"); });
  differs([&] { request.set_stdin("x"); });
  differs([&] { request.mutable_files(0)->set_content("other"); });
  differs([&] { request.mutable_files(0)->set_path("other"); });
  differs([&] { request.mutable_files(0)->set_executable(true); });
  differs([&] { *request.add_files() = request.files(0); });
  differs([&] { request.add_args("x"); });
  differs([&] { (*request.mutable_env())["A"] = "b"; });
  differs([&] { request.set_session_id("s"); });
  // What one part has is not what another has.
  differs([&] {
    request.set_stdin("content");
    request.mutable_files(0)->set_content("in");
  });
  limits.set_max_files(3);
  EXPECT_NE(fingerprint(), whole);
  limits.clear_max_files();
  EXPECT_EQ(fingerprint(), whole);
  profile.canonical = "{\"rules\": []}";
  EXPECT_NE(fingerprint(), whole);
  profile.canonical = "{}";
  caller = User(8);
  EXPECT_NE(fingerprint(), whole);
}

}  // namespace
}  // namespace sandglass::server
