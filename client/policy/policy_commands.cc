#include "client/policy/policy_commands.h"

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/limits_text.h"
#include "client/base/terminal_filter.h"
#include "client/base/text_table.h"
#include "client/base/units.h"
#include "client/connection/connect.h"
#include "client/connection/daemon.h"
#include "client/connection/preparing_wait.h"
#include "client/run/consent.h"
#include "client/run/language_guess.h"
#include "client/run/run_request.h"

namespace sandglass::client {
namespace {

constexpr size_t kMaxProfile = size_t{1} << 20;

std::string StateName(v1::ApprovalState state) {
  const std::string& name = v1::ApprovalState_Name(state);
  return name.empty() ? "unknown"
                      : absl::AsciiStrToLower(
                            absl::StripPrefix(name, "APPROVAL_STATE_"));
}

std::string ClockText(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", FromProto(time),
                          absl::LocalTimeZone());
}

std::vector<std::string> RulesOf(const v1::Approval& approval) {
  std::vector<std::string> rules;
  for (const v1::Finding& finding : approval.findings()) {
    if (finding.severity() == v1::SEVERITY_REQUIRE_APPROVAL &&
        (rules.empty() || rules.back() != finding.rule_id())) {
      rules.push_back(finding.rule_id());
    }
  }
  return rules;
}

int List(const Daemon& daemon, const ListApprovalsOptions& options) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::ListApprovalsRequest request;
  if (options.all) {
    for (int state = v1::ApprovalState_MIN + 1; state <= v1::ApprovalState_MAX;
         ++state) {
      request.add_states(static_cast<v1::ApprovalState>(state));
    }
  }
  v1::ListApprovalsResponse approvals;
  const grpc::Status status =
      daemon.policy->ListApprovals(&context, request, &approvals);
  if (!status.ok()) return FailCall(status, daemon);
  if (options.json) return PrintJson(approvals);
  return PrintText(ApprovalsText(approvals));
}

int Show(const Daemon& daemon, const ShowApprovalOptions& options) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::GetApprovalRequest request;
  request.set_approval_id(options.approval_id);
  v1::GetApprovalResponse response;
  const grpc::Status status =
      daemon.policy->GetApproval(&context, request, &response);
  if (!status.ok()) return FailCall(status, daemon);
  if (options.json) return PrintJson(response);
  return PrintText(ApprovalText(response.approval()));
}

int Answer(const Daemon& daemon, const AnswerApprovalOptions& options) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  grpc::Status status;
  if (options.approve) {
    v1::ApproveRequest request;
    request.set_approval_id(options.approval_id);
    request.set_comment(options.comment);
    request.set_for_session(options.for_session);
    v1::ApproveResponse response;
    status = daemon.policy->Approve(&context, request, &response);
    if (status.ok() && options.json) return PrintJson(response);
  } else {
    v1::DenyRequest request;
    request.set_approval_id(options.approval_id);
    request.set_comment(options.comment);
    v1::DenyResponse response;
    status = daemon.policy->Deny(&context, request, &response);
    if (status.ok() && options.json) return PrintJson(response);
  }
  if (!status.ok()) return FailCall(status, daemon);
  return PrintText(absl::StrCat(options.approve ? "approved " : "denied ",
                                VisibleText(options.approval_id), "\n"));
}

// Reads a profile's file into a request to the daemon.
absl::StatusOr<v1::CheckProfileRequest> ReadProfile(const std::string& path) {
  absl::StatusOr<FileContent> content = ReadInput(path, kMaxProfile);
  if (!content.ok()) return content.status();
  v1::CheckProfileRequest request;
  const std::string name = path.substr(path.rfind('/') + 1);
  if (!absl::EndsWith(name, ".json")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", VisibleText(path), "': a profile's file is called NAME.json"));
  }
  request.set_name(name.substr(0, name.size() - 5));
  if (FindInvalidUtf8(content->bytes) != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", VisibleText(path), "' is not UTF-8"));
  }
  request.set_text(std::move(content->bytes));
  return request;
}

int Check(const Daemon& daemon, const CheckPolicyOptions& options) {
  absl::StatusOr<v1::CheckProfileRequest> request = ReadProfile(options.file);
  if (!request.ok()) return Fail(request.status());
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::CheckProfileResponse response;
  const grpc::Status status =
      daemon.policy->CheckProfile(&context, *request, &response);
  if (!status.ok()) return FailCall(status, daemon);
  const int verdict =
      response.problems().empty() ? kExitOk : kExitProtectionMissing;
  if (options.json) {
    const int printed = PrintJson(response);
    return printed == kExitOk ? verdict : printed;
  }
  std::string text;
  for (const std::string& problem : response.problems()) {
    absl::StrAppend(&text, VisibleText(problem), "\n");
  }
  for (const std::string& sentence : response.meaning()) {
    absl::StrAppend(&text, VisibleText(sentence), "\n");
  }
  const int printed = PrintText(text);
  return printed == kExitOk ? verdict : printed;
}

int Test(const Daemon& daemon, const TestPolicyOptions& options) {
  absl::StatusOr<v1::RunCodeRequest> run = BuildRunRequest(options.run);
  if (!run.ok()) return Fail(run.status());
  if (run->language().empty()) {
    grpc::ClientContext context;
    SetQuickDeadline(context);
    v1::GetServerInfoResponse info;
    const grpc::Status status =
        daemon.stub->GetServerInfo(&context, v1::GetServerInfoRequest(), &info);
    if (!status.ok()) return FailCall(status, daemon);
    const absl::StatusOr<std::string> language =
        GuessLanguage(options.run.file.value_or(""), run->code(), info);
    if (!language.ok()) return Fail(language.status());
    run->set_language(*language);
  }
  v1::TestRunRequest request;
  *request.mutable_run() = *std::move(run);
  if (!options.profile_file.empty()) {
    absl::StatusOr<v1::CheckProfileRequest> profile =
        ReadProfile(options.profile_file);
    if (!profile.ok()) return Fail(profile.status());
    *request.mutable_with_profile() = *std::move(profile);
  }
  v1::TestRunResponse response;
  grpc::Status status;
  // What looks at a program's text may still be prepared.
  PreparingWait wait(SayOnStderr);
  do {
    grpc::ClientContext context;
    status = daemon.policy->TestRun(&context, request, &response);
  } while (wait.Again(status));
  if (!status.ok()) return FailCall(status, daemon);
  v1::RunCodeResponse as_run;
  as_run.set_outcome(response.decision());
  *as_run.mutable_findings() = response.findings();
  as_run.set_findings_dropped(response.findings_dropped());
  const int code = ExitCodeFor(as_run);
  if (options.json) {
    const int printed = PrintJson(response);
    return printed == kExitOk ? code : printed;
  }
  std::string text = absl::StrCat(
      response.decision() == v1::OUTCOME_OK ? "WOULD RUN"
                                            : OutcomeName(response.decision()),
      ": ", VisibleText(response.explanation()), "\n");
  for (const std::string& line : FindingLines(as_run)) {
    absl::StrAppend(&text, absl::StripPrefix(line, "sandglass: "), "\n");
  }
  absl::StrAppend(&text, "limits: ", LimitsText(response.limits()), "\n");
  const int printed = PrintText(text);
  return printed == kExitOk ? code : printed;
}

}  // namespace

std::string ApprovalsText(const v1::ListApprovalsResponse& approvals) {
  std::vector<std::vector<std::string>> rows = {
      {"APPROVAL ID", "STATE", "CALLER", "LANGUAGE", "PROFILE", "RULES",
       "EXPIRES", "ANSWERED BY"}};
  for (const v1::Approval& approval : approvals.approvals()) {
    rows.push_back({approval.approval_id(), StateName(approval.state()),
                    approval.caller(), approval.language(), approval.profile(),
                    absl::StrJoin(RulesOf(approval), ","),
                    ClockText(approval.expire_time()), approval.approver()});
  }
  return TextTable(rows, "");
}

std::string ApprovalText(const v1::Approval& approval) {
  std::string text =
      TextTable({{"id", approval.approval_id()},
                 {"state", StateName(approval.state())},
                 {"caller", approval.caller()},
                 {"language", approval.language()},
                 {"session", approval.session_id()},
                 {"arguments", absl::StrJoin(approval.args(), " ")},
                 {"environment", absl::StrJoin(approval.env(), " ")},
                 {"sha256", approval.code_sha256()},
                 {"expires", ClockText(approval.expire_time())},
                 {"answered by", approval.approver()},
                 {"comment", approval.comment()}},
                "");
  absl::StrAppend(&text, ProgramText(approval));
  return absl::StrCat(text, InputTexts(approval));
}

int ApprovalsCommand(const Endpoint& endpoint,
                     const ApprovalsOptions& options) {
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  if (const auto* list = std::get_if<ListApprovalsOptions>(&options)) {
    return List(*daemon, *list);
  }
  if (const auto* show = std::get_if<ShowApprovalOptions>(&options)) {
    return Show(*daemon, *show);
  }
  return Answer(*daemon, std::get<AnswerApprovalOptions>(options));
}

int PolicyCommand(const Endpoint& endpoint, const PolicyOptions& options) {
  absl::StatusOr<Daemon> daemon = OpenDaemon(endpoint);
  if (!daemon.ok()) return Fail(daemon.status());
  if (const auto* check = std::get_if<CheckPolicyOptions>(&options)) {
    return Check(*daemon, *check);
  }
  return Test(*daemon, std::get<TestPolicyOptions>(options));
}

}  // namespace sandglass::client
