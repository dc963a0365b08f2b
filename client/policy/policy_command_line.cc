#include "client/policy/policy_command_line.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/flags/flag_values.h"

namespace sandglass::client {

PolicyCommandLine::PolicyCommandLine(CLI::App& app) {
  approvals_ = app.add_subcommand(
      "approvals", "Answer runs that wait for a person's approval");
  approvals_->require_subcommand(0, 1);
  policy_ = app.add_subcommand(
      "policy", "Check a profile, and what it says to a program");
  policy_->require_subcommand(0, 1);
  AddApprovals();
  AddAnswer(true);
  AddAnswer(false);
  AddPolicy();
}

void PolicyCommandLine::AddApprovals() {
  CLI::App* list = approvals_->add_subcommand(
      "list", "Show those that wait (as without a command)");
  // Options of the group, so that they work with and without "list".
  approvals_->add_flag("-a,--all", all_,
                       "With those that were answered or have expired");
  approvals_->add_flag("--json", json_, "As proto JSON");
  commands_.push_back({list, [this] { return List(); }});
  CLI::App* show =
      approvals_->add_subcommand("show", "Show one, with its program");
  CLI::Option* id = show->add_option("APPROVAL_ID", "The approval");
  id->required()->expected(1);
  commands_.push_back({show, [this, id]() -> absl::StatusOr<Options> {
                         ShowApprovalOptions options;
                         options.json = json_;
                         options.approval_id = id->results().back();
                         return ApprovalsOptions(options);
                       }});
}

void PolicyCommandLine::AddAnswer(bool approve) {
  CLI::App* app = approvals_->add_subcommand(
      approve ? "approve" : "deny",
      approve ? "Let a run start, once" : "Keep a run from starting");
  auto answer = std::make_shared<AnswerApprovalOptions>();
  answer->approve = approve;
  CLI::Option* id = app->add_option("APPROVAL_ID", "The approval");
  id->required()->expected(1);
  CLI::Option* comment =
      AddValue(*app, "--comment",
               "Told to the caller and kept in the audit log", "TEXT");
  if (approve) {
    app->add_flag("--for-session", answer->for_session,
                  "The session's further runs need no approval by the same "
                  "rules");
  }
  commands_.push_back(
      {app, [this, answer, id, comment]() -> absl::StatusOr<Options> {
         AnswerApprovalOptions options = *answer;
         options.approval_id = id->results().back();
         options.comment = ValueOf(comment).value_or("");
         options.json = json_;
         return ApprovalsOptions(options);
       }});
}

void PolicyCommandLine::AddPolicy() {
  CLI::App* check = policy_->add_subcommand(
      "check", "Say whether a profile could be used, and what it means");
  auto checked = std::make_shared<CheckPolicyOptions>();
  CLI::Option* file = check->add_option("PROFILE.json", "The profile's file");
  file->required()->expected(1);
  check->add_flag("--json", checked->json, "As proto JSON");
  commands_.push_back({check, [checked, file]() -> absl::StatusOr<Options> {
                         CheckPolicyOptions options = *checked;
                         options.file = file->results().back();
                         return PolicyOptions(options);
                       }});
  CLI::App* test = policy_->add_subcommand(
      "test", "Say what a profile decides about a program, without running it");
  auto tested = std::make_shared<TestPolicyOptions>();
  CLI::Option* profile = test->add_option(
      "PROFILE", "A profile's file, NAME.json, or the name of one in force");
  profile->required()->expected(1);
  CLI::Option* program =
      test->add_option("FILE", "The program; - reads it from standard input");
  program->expected(1);
  CLI::Option* code =
      AddValue(*test, "-c,--code", "The program's text", "CODE");
  CLI::Option* language =
      AddValue(*test, "-l,--lang",
               "Language id or alias; else by the file's extension or its #! "
               "line",
               "LANG");
  test->add_flag("--json", tested->json, "As proto JSON");
  commands_.push_back(
      {test,
       [tested, profile, program, code, language]() -> absl::StatusOr<Options> {
         TestPolicyOptions options = *tested;
         const std::string which = profile->results().back();
         const bool is_file =
             which.find('/') != std::string::npos ||
             (which.size() > 5 && which.substr(which.size() - 5) == ".json");
         (is_file ? options.profile_file : options.run.profile) = which;
         options.run.file = ValueOf(program);
         options.run.code = ValueOf(code);
         options.run.language = ValueOf(language).value_or("");
         if (options.run.file.has_value() == options.run.code.has_value()) {
           return absl::InvalidArgumentError("give a FILE, - or -c CODE");
         }
         return PolicyOptions(std::move(options));
       }});
}

bool PolicyCommandLine::parsed() const {
  return approvals_->parsed() || policy_->parsed();
}

absl::StatusOr<PolicyCommandLine::Options> PolicyCommandLine::List() const {
  ListApprovalsOptions options;
  options.all = all_;
  options.json = json_;
  return Options(ApprovalsOptions(options));
}

absl::StatusOr<PolicyCommandLine::Options> PolicyCommandLine::Collect() const {
  for (const Command& command : commands_) {
    if (command.app->parsed()) return command.take();
  }
  // Without a command, users want the list.
  if (approvals_->parsed()) return List();
  return absl::InvalidArgumentError("give a command: check or test");
}

}  // namespace sandglass::client
