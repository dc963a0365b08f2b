#include "client/run/consent.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/limits_text.h"
#include "client/base/terminal_filter.h"
#include "client/base/unique_fd.h"
#include "client/base/units.h"
#include "client/terminal/edit_text.h"

namespace sandglass::client {
namespace {

constexpr char kTerminal[] = "/dev/tty";
constexpr int kPollMs = 100;

std::string SeverityName(v1::Severity severity) {
  const std::string& name = v1::Severity_Name(severity);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "SEVERITY_"));
}

std::string Place(const v1::Finding& finding) {
  if (finding.line() == 0) return "";
  return absl::StrCat(VisibleText(finding.path()), ":", finding.line(), ":",
                      finding.column(), ": ");
}

std::string FindingText(const v1::Finding& finding) {
  return absl::StrCat(
      Place(finding), SeverityName(finding.severity()), " ",
      VisibleText(finding.rule_id()), ": ", VisibleText(finding.message()),
      finding.count() > 1 ? absl::StrCat(" (", finding.count(), " times)")
                          : "");
}

std::string Numbered(absl::string_view code) {
  std::string text;
  int number = 0;
  absl::ConsumeSuffix(&code, "\n");
  for (const absl::string_view line : absl::StrSplit(code, '\n')) {
    const std::string place = absl::StrCat(++number);
    absl::StrAppend(&text,
                    std::string(5 - std::min<size_t>(place.size(), 5), ' '),
                    place, "  ", VisibleText(line), "\n");
  }
  return text;
}

std::string NameOf(const v1::ApprovalInput& input) {
  return input.path().empty() ? "standard input" : VisibleText(input.path());
}

std::string InputWords(const v1::ApprovalInput& input) {
  return absl::StrCat(NameOf(input), ", ", FormatByteSize(input.size_bytes()),
                      ", sha256 ", VisibleText(input.sha256()));
}

void AddInputText(const v1::ApprovalInput& input, std::string& text) {
  absl::StrAppend(&text, "\n", NameOf(input));
  if (!input.has_text()) {
    absl::StrAppend(&text, ": not text, or not kept\n");
    return;
  }
  absl::StrAppend(&text, ":\n\n", Numbered(input.text()));
}

// Reads a line from the terminal; nullopt at its end or after a signal.
std::optional<std::string> ReadLine(int terminal,
                                    const InterruptWatcher& interrupts) {
  std::string line;
  while (interrupts.signal() == 0 && line.size() < 1024) {
    struct pollfd fd = {terminal, POLLIN, 0};
    const int ready = ::poll(&fd, 1, kPollMs);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    char byte = 0;
    const ssize_t size = ::read(terminal, &byte, 1);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return std::nullopt;
    if (byte == '\n') return line;
    line += byte;
  }
  return std::nullopt;
}

grpc::Status GetApproval(const Daemon& daemon, const std::string& id,
                         v1::GetApprovalResponse& response) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::GetApprovalRequest request;
  request.set_approval_id(id);
  return daemon.policy->GetApproval(&context, request, &response);
}

// Says where the rest can be read.
std::string FilesHint(const v1::GetApprovalResponse& response) {
  const v1::Approval& approval = response.approval();
  if (approval.files().empty() && !approval.has_stdin()) return "";
  return absl::StrCat("  what they hold: sandglass approvals show ",
                      VisibleText(approval.approval_id()), "\n");
}

int Reject(const Daemon& daemon, const std::string& approval_id,
           const std::string& comment) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::DenyRequest deny;
  deny.set_approval_id(approval_id);
  deny.set_comment(comment);
  v1::DenyResponse denied;
  const grpc::Status status = daemon.policy->Deny(&context, deny, &denied);
  return status.ok() ? kExitDenied : FailCall(status, daemon);
}

void SayRejected() {
  WriteAll(STDERR_FILENO, "sandglass: rejected; nothing ran\n");
}

// Asks until there is a valid answer; nullopt at the terminal's end or after a
// signal.
std::optional<Consent> Answer(int terminal, bool in_session,
                              const InterruptWatcher& interrupts) {
  while (true) {
    WriteAll(terminal, in_session
                           ? "[a]pprove, [s]ession: always for these rules in "
                             "this session, [e]dit, [r]eject? "
                           : "[a]pprove, [e]dit, [r]eject? ");
    const std::optional<std::string> line = ReadLine(terminal, interrupts);
    if (!line) {
      WriteAll(terminal, "\n");
      return std::nullopt;
    }
    const std::optional<Consent> consent = ConsentOf(*line, in_session);
    if (consent) return consent;
    WriteAll(terminal, NoConsentWords(*line));
  }
}

// Uses the language's own extension if it is known, for the editor's colours.
std::string EditorName(const v1::Approval& approval) {
  for (const v1::Finding& finding : approval.findings()) {
    const size_t dot = finding.path().rfind('.');
    if (dot == std::string::npos) continue;
    const std::string ending = finding.path().substr(dot + 1);
    if (!ending.empty() &&
        std::all_of(ending.begin(), ending.end(), [](char c) {
          return absl::ascii_isalnum(static_cast<unsigned char>(c));
        })) {
      return absl::StrCat("program.", ending);
    }
  }
  return "program";
}

std::optional<int> EditProgram(const Daemon& daemon,
                               const v1::Approval& approval,
                               v1::RunCodeRequest& request,
                               InterruptWatcher& interrupts) {
  absl::StatusOr<std::string> text =
      EditText(request.code(), EditorName(approval), interrupts);
  if (text.ok() && *text == request.code()) return std::nullopt;
  // Nobody waits for that approval any more.
  const int denied = Reject(daemon, approval.approval_id(),
                            text.ok() ? "changed by its author" : "");
  if (interrupts.signal() != 0) return kExitSignalBase + interrupts.signal();
  if (!text.ok()) return Fail(text.status());
  if (denied != kExitDenied) return denied;
  request.set_code(*std::move(text));
  request.clear_approval_id();
  return std::nullopt;
}

}  // namespace

bool CanAsk() {
  return ::isatty(STDERR_FILENO) != 0 &&
         UniqueFd(::open(kTerminal, O_RDWR | O_CLOEXEC)).get() >= 0;
}

std::optional<Consent> ConsentOf(absl::string_view line, bool in_session) {
  const std::string word =
      absl::AsciiStrToLower(absl::StripAsciiWhitespace(line));
  const std::pair<absl::string_view, Consent> answers[] = {
      {"approve", Consent::kApprove},
      {"edit", Consent::kEdit},
      {"reject", Consent::kReject},
      {"session", Consent::kAlways}};
  for (const auto& [name, consent] : answers) {
    if (consent == Consent::kAlways && !in_session) continue;
    if (!word.empty() && (word == name || word == name.substr(0, 1))) {
      return consent;
    }
  }
  return std::nullopt;
}

std::string NoConsentWords(absl::string_view line) {
  const absl::string_view word = absl::StripAsciiWhitespace(line);
  return word.empty() ? "Nothing was typed. "
                      : absl::StrCat("'", VisibleText(word),
                                     "' is none of the answers. ");
}

std::vector<std::string> FindingLines(const v1::RunCodeResponse& response) {
  std::vector<std::string> lines;
  for (const v1::Finding& finding : response.findings()) {
    lines.push_back(absl::StrCat("sandglass: ", FindingText(finding)));
  }
  if (response.findings_dropped() > 0) {
    lines.push_back(absl::StrCat("sandglass: ", response.findings_dropped(),
                                 " more findings are left out"));
  }
  if (response.has_approval()) {
    const std::string id = VisibleText(response.approval().approval_id());
    lines.push_back(absl::StrCat("sandglass: ",
                                 response.approval().self_approval()
                                     ? "you, or an approver, can let"
                                     : "an approver can let",
                                 " it run: sandglass approvals approve ", id));
    lines.push_back(absl::StrCat(
        "sandglass: then repeat this command with --approval ", id));
  }
  return lines;
}

std::string ProgramText(const v1::Approval& approval) {
  std::string text = absl::StrCat("\n", Numbered(approval.code()), "\n");
  for (const v1::Finding& finding : approval.findings()) {
    absl::StrAppend(&text, "  ", FindingText(finding), "\n");
  }
  for (const v1::ApprovalInput& file : approval.files()) {
    absl::StrAppend(&text, "  with the file ", InputWords(file), "\n");
  }
  if (approval.has_stdin()) {
    absl::StrAppend(&text, "  reads ", InputWords(approval.stdin()), "\n");
  }
  absl::StrAppend(&text, "  profile ", VisibleText(approval.profile()), ": ",
                  LimitsText(approval.limits()), "\n");
  return text;
}

std::string InputTexts(const v1::Approval& approval) {
  std::string text;
  for (const v1::ApprovalInput& file : approval.files()) {
    AddInputText(file, text);
  }
  if (approval.has_stdin()) AddInputText(approval.stdin(), text);
  return text;
}

std::optional<int> AskForConsent(const Daemon& daemon,
                                 const v1::RunCodeResponse& response,
                                 v1::RunCodeRequest& request,
                                 InterruptWatcher& interrupts) {
  const UniqueFd terminal(::open(kTerminal, O_RDWR | O_CLOEXEC));
  const std::string& id = response.approval().approval_id();
  // Fetched from the daemon: what is approved is what the daemon has.
  v1::GetApprovalResponse asked;
  if (const grpc::Status status = GetApproval(daemon, id, asked);
      !status.ok()) {
    return FailCall(status, daemon);
  }
  WriteAll(terminal.get(),
           absl::StrCat("\nThis program waits for your approval:\n",
                        ProgramText(asked.approval()), FilesHint(asked)));
  const std::optional<Consent> consent =
      Answer(terminal.get(), !request.session_id().empty(), interrupts);
  if (!consent || *consent == Consent::kReject) {
    const int code = Reject(daemon, id, "");
    if (code == kExitDenied) SayRejected();
    return interrupts.signal() != 0 ? kExitSignalBase + interrupts.signal()
                                    : code;
  }
  if (*consent == Consent::kEdit) {
    return EditProgram(daemon, asked.approval(), request, interrupts);
  }
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::ApproveRequest approve;
  approve.set_approval_id(id);
  approve.set_for_session(*consent == Consent::kAlways);
  v1::ApproveResponse approved;
  const grpc::Status status =
      daemon.policy->Approve(&context, approve, &approved);
  if (!status.ok()) return FailCall(status, daemon);
  request.set_approval_id(id);
  return std::nullopt;
}

}  // namespace sandglass::client
