#include "client/consent.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/exit_codes.h"
#include "client/file_io.h"
#include "client/limits_text.h"
#include "client/terminal_filter.h"
#include "client/unique_fd.h"

namespace sandglass::client {
namespace {

constexpr char kTerminal[] = "/dev/tty";
constexpr int kPollMs = 100;
constexpr size_t kMostText = size_t{1} << 20;

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

// A line from the terminal; nullopt at its end or after a signal.
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

// Runs the user's editor over a file, in the foreground.
bool Edit(const std::string& path) {
  const char* editor = std::getenv("VISUAL");  // NOLINT(concurrency-mt-unsafe)
  if (editor == nullptr || *editor == 0) {
    editor = std::getenv("EDITOR");  // NOLINT(concurrency-mt-unsafe)
  }
  if (editor == nullptr || *editor == 0) editor = "vi";
  // It may be a command with arguments, as elsewhere.
  const std::string command = absl::StrCat(editor, " \"$1\"");
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    ::signal(SIGPIPE, SIG_DFL);
    const UniqueFd terminal(::open(kTerminal, O_RDWR));
    ::dup2(terminal.get(), 0);
    ::dup2(terminal.get(), 1);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), "editor", path.c_str(),
            nullptr);
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The text as the user left it; nullopt when it could not be edited.
std::optional<std::string> Edited(const std::string& code) {
  std::string path = "/tmp/sandglass-edit-XXXXXX";
  const UniqueFd file(::mkostemp(path.data(), O_CLOEXEC));
  if (file.get() < 0) return std::nullopt;
  std::optional<std::string> text;
  if (WriteAll(file.get(), code) == 0 && Edit(path)) {
    absl::StatusOr<FileContent> content = ReadInput(path, kMostText);
    if (content.ok()) text = std::move(content->bytes);
  }
  ::unlink(path.c_str());
  return text;
}

int Reject(const Daemon& daemon, const std::string& approval_id) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::DenyRequest deny;
  deny.set_approval_id(approval_id);
  v1::DenyResponse denied;
  const grpc::Status status = daemon.policy->Deny(&context, deny, &denied);
  if (!status.ok()) return FailCall(status, daemon);
  WriteAll(STDERR_FILENO, "sandglass: rejected; nothing ran\n");
  return kExitDenied;
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

std::string ProgramText(const v1::RunCodeRequest& request,
                        const v1::RunCodeResponse& response) {
  std::string text = absl::StrCat("\n", Numbered(request.code()), "\n");
  for (const v1::Finding& finding : response.findings()) {
    absl::StrAppend(&text, "  ", FindingText(finding), "\n");
  }
  for (const v1::InputFile& file : request.files()) {
    absl::StrAppend(&text, "  with the file ", VisibleText(file.path()), "\n");
  }
  absl::StrAppend(&text, "  profile ", VisibleText(response.profile()), ": ",
                  LimitsText(response.limits()), "\n");
  return text;
}

std::optional<int> AskForConsent(const Daemon& daemon,
                                 const v1::RunCodeResponse& response,
                                 v1::RunCodeRequest& request,
                                 InterruptWatcher& interrupts) {
  const UniqueFd terminal(::open(kTerminal, O_RDWR | O_CLOEXEC));
  const std::string& id = response.approval().approval_id();
  const bool in_session = !request.session_id().empty();
  WriteAll(terminal.get(),
           absl::StrCat("\nThis program waits for your approval:\n",
                        ProgramText(request, response)));
  std::optional<Consent> consent;
  while (!consent) {
    WriteAll(terminal.get(),
             in_session ? "[a]pprove, [s]ession: always for these rules in "
                          "this session, [e]dit, [r]eject? "
                        : "[a]pprove, [e]dit, [r]eject? ");
    const std::optional<std::string> line =
        ReadLine(terminal.get(), interrupts);
    if (!line) {
      WriteAll(terminal.get(), "\n");
      const int code = Reject(daemon, id);
      return interrupts.signal() != 0 ? kExitSignalBase + interrupts.signal()
                                      : code;
    }
    consent = ConsentOf(*line, in_session);
  }
  if (*consent == Consent::kReject) return Reject(daemon, id);
  if (*consent == Consent::kEdit) {
    std::optional<std::string> text = Edited(request.code());
    if (!text) {
      return Fail(absl::UnavailableError(
          "the editor ($VISUAL, $EDITOR, else vi) failed; nothing ran"));
    }
    request.set_code(*std::move(text));
    request.clear_approval_id();
    return std::nullopt;
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
