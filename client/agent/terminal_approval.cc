#include "client/agent/terminal_approval.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/base/file_io.h"
#include "client/base/unique_fd.h"
#include "client/run/consent.h"

namespace sandglass::client {
namespace {

constexpr char kTerminal[] = "/dev/tty";
constexpr size_t kMaxLine = 4096;

// Returns false at the end of input and after an interrupt.
bool ReadLine(int terminal, const AgentInterrupts& interrupts,
              std::string& line) {
  line.clear();
  while (line.size() < kMaxLine) {
    pollfd fds[] = {{terminal, POLLIN, 0}, {interrupts.prompt_fd(), POLLIN, 0}};
    if (::poll(fds, 2, -1) < 0 && errno == EINTR) continue;
    if (fds[1].revents != 0) {
      interrupts.ConsumePromptSignal();
      return false;
    }
    char byte = 0;
    if (::read(terminal, &byte, 1) != 1) return false;
    if (byte == '\n') return true;
    line += byte;
  }
  return false;
}

bool Answer(const Daemon& daemon, const std::string& approval_id,
            bool for_session) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::ApproveRequest request;
  request.set_approval_id(approval_id);
  request.set_for_session(for_session);
  v1::ApproveResponse response;
  const grpc::Status status =
      daemon.policy->Approve(&context, request, &response);
  if (status.ok()) return true;
  FailCall(status, daemon);
  return false;
}

void Deny(const Daemon& daemon, const std::string& approval_id) {
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::DenyRequest request;
  request.set_approval_id(approval_id);
  v1::DenyResponse response;
  const grpc::Status status = daemon.policy->Deny(&context, request, &response);
  if (!status.ok()) FailCall(status, daemon);
}

}  // namespace

bool AskOnTerminal(const Daemon& daemon, const std::string& approval_id,
                   const AgentInterrupts& interrupts) {
  if (!CanAsk()) return false;
  const UniqueFd terminal(::open(kTerminal, O_RDWR | O_CLOEXEC));
  // Fetched from the daemon: what is approved is what the daemon has.
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::GetApprovalRequest request;
  request.set_approval_id(approval_id);
  v1::GetApprovalResponse asked;
  const grpc::Status status =
      daemon.policy->GetApproval(&context, request, &asked);
  if (!status.ok()) {
    FailCall(status, daemon);
    return false;
  }
  WriteAll(terminal.get(),
           absl::StrCat("\nThis program waits for your approval:\n",
                        ProgramText(asked.approval())));
  interrupts.ConsumePromptSignal();
  std::string line;
  while (true) {
    WriteAll(terminal.get(),
             "approve, reject, or session (approve all such "
             "in this session)? ");
    if (!ReadLine(terminal.get(), interrupts, line)) break;
    const std::optional<Consent> consent = ConsentOf(line, true);
    if (consent == Consent::kApprove || consent == Consent::kAlways) {
      return Answer(daemon, approval_id, consent == Consent::kAlways);
    }
    if (consent == Consent::kReject) break;
    WriteAll(terminal.get(),
             consent ? "A program of the model's can't be edited here. "
                     : NoConsentWords(line));
  }
  Deny(daemon, approval_id);
  return false;
}

}  // namespace sandglass::client
