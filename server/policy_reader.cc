#include "server/policy_reader.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"
#include "sandbox/sandbox.h"
#include "server/supervisor.h"

namespace sandglass::server {
namespace {

// What goes over the channel: any packet is a request; an answer is one of
// these and then names, one a line, or the words of the error.
constexpr char kGood = '+';
constexpr char kBad = '-';
constexpr size_t kMostWords = 64 * 1024;

std::string ReadAgain(const std::string& directory, const PolicySet& in_force,
                      sandbox::TemplateLedger& ledger) {
  const absl::StatusOr<PolicySet> policy =
      PolicySet::Reload(directory, in_force);
  absl::Status status = policy.status();
  if (status.ok()) status = ledger.Append(policy->templates());
  if (!status.ok()) {
    return absl::StrCat(std::string(1, kBad),
                        status.message().substr(0, kMostWords));
  }
  return absl::StrCat(
      std::string(1, kGood),
      absl::StrJoin(policy->templates(), "\n",
                    [](std::string* out, const sandbox::JailTemplate& each) {
                      out->append(each.name);
                    }));
}

bool KeepOnly(std::initializer_list<int> sorted) {
  int from = 3;
  for (const int fd : sorted) {
    if (fd > from && !os::CloseRange(from, fd - 1)) return false;
    from = fd + 1;
  }
  return os::CloseFrom(from);
}

// To read is all that is left, and not only in the directory: by then another
// one may have its name.
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
    if (!asked.ok() ||
        !os::SendPacket(channel, ReadAgain(directory, in_force, ledger), {},
                        os::Wait::kYes)
             .ok()) {
      ::_exit(0);
    }
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
    // A signal for the terminal's whole group is the server's business.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
      ::signal(signal, SIG_IGN);
    }
    // Not to be taken for a daemon. Where the kernel can't change that, nothing
    // is lost but looks.
    // Of its own memory: the kernel shows no other.
    const std::string title("sandglass-policy-reader\0*", 25);
    (void)::pthread_setname_np(::pthread_self(), "policy-reader");
    (void)os::UseTitle(title.data(), title.size());
    const int own = channel->second.get();
    const int book = ledger.file().get();
    // ORDER: a change of ids forgets whose death to die with.
    if (!KeepOnly({std::min(own, book), std::max(own, book)}) ||
        !GiveUpRights(uid, gid) || !DieWithParent(parent).ok()) {
      ::_exit(1);
    }
    Serve(directory, in_force, ledger, own);
  }
  return std::unique_ptr<PolicyReader>(
      new PolicyReader(std::move(channel->first), os::Fd(pidfd), pid));
}

absl::StatusOr<std::vector<std::string>> PolicyReader::Read(
    absl::Duration timeout) {
  if (!channel_.valid()) {
    return absl::UnavailableError(
        "the process that reads the policy is gone; restart the daemon");
  }
  absl::StatusOr<os::Packet> answer = absl::UnavailableError("");
  const absl::Status sent =
      os::SendPacket(channel_.get(), "read", {}, os::Wait::kNo);
  // It was not asked, so that no answer can come late.
  if (absl::IsResourceExhausted(sent)) return sent;
  if (sent.ok()) {
    struct pollfd fd = {channel_.get(), POLLIN, 0};
    const auto timeout_ms =
        static_cast<int>(absl::ToInt64Milliseconds(timeout));
    if (::poll(&fd, 1, timeout_ms) == 1) {
      answer = os::ReceivePacket(channel_.get(), os::Wait::kNo);
    } else {
      answer = absl::DeadlineExceededError("");
    }
  }
  if (!answer.ok() || answer->data.empty()) {
    // A late answer must not be taken for that of another question.
    channel_.reset();
    return absl::Status(
        absl::IsDeadlineExceeded(answer.status())
            ? absl::StatusCode::kDeadlineExceeded
            : absl::StatusCode::kUnavailable,
        absl::StrCat("the process that reads the policy has ",
                     absl::IsDeadlineExceeded(answer.status())
                         ? absl::StrCat("not answered for ",
                                        absl::FormatDuration(timeout))
                         : "died",
                     "; restart the daemon"));
  }
  const std::string words = answer->data.substr(1);
  if (answer->data[0] != kGood) return absl::InvalidArgumentError(words);
  return std::vector<std::string>(absl::StrSplit(words, '\n'));
}

PolicyReader::~PolicyReader() {
  constexpr int kPatienceMs = 1000;
  channel_.reset();
  // The server has no right to kill it.
  struct pollfd fd = {pidfd_.get(), POLLIN, 0};
  if (::poll(&fd, 1, kPatienceMs) == 1) ::waitpid(pid_, nullptr, 0);
}

}  // namespace sandglass::server
