#include "server/live_policy/policy_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sandbox/os/io.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"
#include "sandbox/yard/sandbox.h"
#include "server/base/clock.h"
#include "server/base/poll_until.h"

namespace sandglass::server {
namespace {

// The messages on the channel. A question is one of the first two characters
// and a number. Its answer is that number, a newline, one of the other
// characters, and then either names, one a line, or the error's text. The
// number shows when an answer comes late, to an earlier question.
constexpr char kRead = 'r';
constexpr char kBeat = 'b';
constexpr char kGood = '+';
constexpr char kBad = '-';
constexpr size_t kMaxWords = 64 * 1024;

std::string ReadAgain(const std::string& directory, const PolicySet& in_force,
                      sandbox::TemplateLedger& ledger) {
  const absl::StatusOr<PolicySet> policy =
      PolicySet::Reload(directory, in_force);
  absl::Status status = policy.status();
  if (status.ok()) status = ledger.Append(policy->templates());
  if (!status.ok()) {
    return absl::StrCat(std::string(1, kBad),
                        status.message().substr(0, kMaxWords));
  }
  return absl::StrCat(
      std::string(1, kGood),
      absl::StrJoin(policy->templates(), "\n",
                    [](std::string* out, const sandbox::JailTemplate& each) {
                      out->append(each.name);
                    }));
}

// Leaves nothing but the right to read. That right isn't bound to the policy
// directory, since by the next question another directory may have its name.
bool GiveUpRights(uid_t uid, gid_t gid) {
  if (!sandbox::DropPrivileges(uid, gid).ok()) return false;
  const int abi = os::LandlockAbi();
  if (abi == 0) return true;
  const os::LandlockPath paths[] = {{"/", os::LandlockAccess::kRead}};
  const os::Fd ruleset = os::MakeLandlockRuleset(abi, paths);
  return ruleset.valid() && os::LandlockRestrictSelf(ruleset);
}

[[noreturn]] void Serve(const std::string& directory, const PolicySet& in_force,
                        sandbox::TemplateLedger& ledger, int channel) {
  for (;;) {
    const absl::StatusOr<os::Packet> asked =
        os::ReceivePacket(channel, os::Wait::kYes);
    if (!asked.ok() || asked->data.empty()) ::_exit(0);
    const std::string answer = absl::StrCat(
        asked->data.substr(1), "\n",
        asked->data[0] == kRead ? ReadAgain(directory, in_force, ledger)
                                : std::string(1, kGood));
    if (!os::SendPacket(channel, answer, {}, os::Wait::kYes).ok()) ::_exit(0);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<PolicyReader>> PolicyReader::Start(
    const std::string& directory, const PolicySet& in_force,
    sandbox::TemplateLedger ledger, uid_t uid, gid_t gid) {
  absl::StatusOr<std::pair<os::Fd, os::Fd>> channel = os::SeqPacketPair();
  if (!channel.ok()) return channel.status();
  const pid_t parent = ::getpid();
  int pidfd = -1;
  const pid_t pid = os::Clone3({.pidfd = &pidfd});
  if (pid < 0) return os::ErrnoStatus("clone3 of the policy reader");
  if (pid == 0) {
    // A signal that the terminal sends to the whole group is for the server to
    // handle.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
      ::signal(signal, SIG_IGN);
    }
    // Gives the process a name of its own, so that it isn't mistaken for a
    // daemon. If the kernel can't change it, that is only a blemish. The text
    // must be in this process's own memory, since the kernel shows no other.
    const std::string title("sandglass-policy-reader\0*", 25);
    (void)::pthread_setname_np(::pthread_self(), "policy-reader");
    (void)os::UseTitle(title.data(), title.size());
    const int own = channel->second.get();
    const int book = ledger.file().get();
    // ORDER: DieWithParent comes last, because a change of ids makes the kernel
    // forget whose death this process is to die with.
    if (!os::CloseAllBut({std::min(own, book), std::max(own, book)}) ||
        !GiveUpRights(uid, gid) || !os::DieWithParent(parent)) {
      ::_exit(1);
    }
    Serve(directory, in_force, ledger, own);
  }
  return std::unique_ptr<PolicyReader>(
      new PolicyReader(std::move(channel->first), os::Fd(pidfd), pid));
}

absl::StatusOr<std::string> PolicyReader::Ask(char what,
                                              absl::Duration timeout) {
  const auto gone = [this] {
    channel_.reset();
    return absl::UnavailableError(
        "the process that reads the policy is gone; restart the daemon");
  };
  if (!channel_.valid()) return gone();
  const MonotonicTime end = After(Now(), timeout);
  // A process that hangs still has the last such question before it, so no
  // second one is sent.
  if (what != kBeat || answered_ == asked_) {
    const absl::Status sent = os::SendPacket(
        channel_.get(), absl::StrCat(std::string(1, what), ++asked_), {},
        os::Wait::kNo);
    if (absl::IsResourceExhausted(sent)) {
      --asked_;  // the question was not sent
      return sent;
    }
    if (!sent.ok()) return gone();
  }
  while (answered_ != asked_) {
    struct pollfd fd = {channel_.get(), POLLIN, 0};
    if (!PollUntil(&fd, 1, end)) {
      return absl::DeadlineExceededError(absl::StrCat(
          "the process that reads the policy has not answered for ",
          absl::FormatDuration(timeout)));
    }
    if (fd.revents == 0) continue;
    const absl::StatusOr<os::Packet> answer =
        os::ReceivePacket(channel_.get(), os::Wait::kNo);
    if (absl::IsNotFound(answer.status())) continue;
    if (!answer.ok()) return gone();
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(answer->data, absl::MaxSplits('\n', 1));
    uint64_t number = 0;
    if (!absl::SimpleAtoi(parts.first, &number) || number <= answered_ ||
        number > asked_ || parts.second.empty()) {
      return gone();
    }
    answered_ = number;
    if (number == asked_) return std::string(parts.second);
  }
  return std::string(1, kGood);
}

absl::StatusOr<std::vector<std::string>> PolicyReader::Read(
    absl::Duration timeout) {
  const absl::StatusOr<std::string> answer = Ask(kRead, timeout);
  if (!answer.ok()) return answer.status();
  const std::string words = answer->substr(1);
  if (answer->front() != kGood) return absl::InvalidArgumentError(words);
  return std::vector<std::string>(absl::StrSplit(words, '\n'));
}

absl::Status PolicyReader::Beat(absl::Duration timeout) {
  return Ask(kBeat, timeout).status();
}

PolicyReader::~PolicyReader() {
  constexpr int kPatienceMs = 1000;
  channel_.reset();
  // The server has no right to kill the process, so it waits for its end.
  struct pollfd fd = {pidfd_.get(), POLLIN, 0};
  if (::poll(&fd, 1, kPatienceMs) == 1) ::waitpid(pid_, nullptr, 0);
}

}  // namespace sandglass::server
