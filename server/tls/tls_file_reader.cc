#include "server/tls/tls_file_reader.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"
#include "server/base/poll_until.h"
#include "server/base/strings.h"

namespace sandglass::server {
namespace {

// Leaves nothing but the right to read.
bool GiveUpRights(uid_t uid, gid_t gid) {
  if (!os::DropBoundingSet() || ::setgroups(0, nullptr) != 0 ||
      ::setresgid(gid, gid, gid) != 0 || !os::KeepCapabilities() ||
      ::setresuid(uid, uid, uid) != 0 ||
      !os::SetCapabilities(os::kCapDacReadSearch) || !os::SetNoNewPrivs() ||
      !os::SetNonDumpable()) {
    return false;
  }
  const int abi = os::LandlockAbi();
  if (abi == 0) return true;
  const os::LandlockPath paths[] = {{"/", os::LandlockAccess::kRead}};
  const os::Fd ruleset = os::MakeLandlockRuleset(abi, paths);
  return ruleset.valid() && os::LandlockRestrictSelf(ruleset);
}

// The answer has a line for each file, which is empty or the error, and the
// descriptors of those that could be opened, in the same order.
[[noreturn]] void Serve(const std::vector<std::string>& paths, int channel) {
  for (;;) {
    const absl::StatusOr<os::Packet> asked =
        os::ReceivePacket(channel, os::Wait::kYes);
    if (!asked.ok()) ::_exit(0);
    std::string answer;
    std::vector<os::Fd> files;
    std::vector<int> numbers;
    for (const std::string& path : paths) {
      os::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
      if (file.valid()) {
        numbers.push_back(file.get());
        files.push_back(std::move(file));
      } else {
        absl::StrAppend(&answer, ErrorText(errno));
      }
      answer.push_back('\n');
    }
    if (!os::SendPacket(channel, answer, numbers, os::Wait::kYes).ok()) {
      ::_exit(0);
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<TlsFileReader>> TlsFileReader::Start(
    const TlsConfig& config, uid_t uid, gid_t gid) {
  absl::StatusOr<std::pair<os::Fd, os::Fd>> channel = os::SeqPacketPair();
  if (!channel.ok()) return channel.status();
  const std::vector<std::string> paths = TlsPaths(config);
  const pid_t parent = ::getpid();
  int pidfd = -1;
  const pid_t pid = os::Clone3({.pidfd = &pidfd});
  if (pid < 0) return os::ErrnoStatus("clone3 of the reader of certificates");
  if (pid == 0) {
    // A signal that the terminal sends to the whole group is for the server to
    // handle.
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
      ::signal(signal, SIG_IGN);
    }
    const std::string title("sandglass-certificate-reader\0*", 30);
    (void)::pthread_setname_np(::pthread_self(), "cert-reader");
    (void)os::UseTitle(title.data(), title.size());
    const int own = channel->second.get();
    // ORDER: DieWithParent comes last, because a change of ids makes the kernel
    // forget whose death this process is to die with.
    if (!os::CloseAllBut({own}) || !GiveUpRights(uid, gid) ||
        !os::DieWithParent(parent)) {
      ::_exit(1);
    }
    Serve(paths, own);
  }
  return std::unique_ptr<TlsFileReader>(
      new TlsFileReader(config, std::move(channel->first), os::Fd(pidfd), pid));
}

absl::StatusOr<TlsFiles> TlsFileReader::Read(absl::Duration timeout) {
  const auto gone = [this] {
    channel_.reset();
    return absl::UnavailableError(
        "the process that reads certificates is gone or hangs; restart the "
        "daemon for new ones");
  };
  if (!channel_.valid() ||
      !os::SendPacket(channel_.get(), "r", {}, os::Wait::kNo).ok()) {
    return gone();
  }
  struct pollfd fd = {channel_.get(), POLLIN, 0};
  const MonotonicTime end = After(Now(), timeout);
  while (fd.revents == 0) {
    if (!PollUntil(&fd, 1, end)) return gone();
  }
  absl::StatusOr<os::Packet> answer =
      os::ReceivePacket(channel_.get(), os::Wait::kNo);
  if (!answer.ok()) return gone();
  const std::vector<std::string> errors = absl::StrSplit(answer->data, '\n');
  std::vector<TlsFile> files;
  size_t next = 0;
  for (size_t i = 0; i < TlsPaths(config_).size(); ++i) {
    TlsFile& file = files.emplace_back();
    if (i < errors.size() && errors[i].empty() && next < answer->fds.size()) {
      file.fd = std::move(answer->fds[next++]);
    } else {
      file.error = i < errors.size() ? errors[i] : "it was not opened";
    }
  }
  return ReadTlsFiles(config_, files);
}

TlsFileReader::~TlsFileReader() {
  constexpr int kPatienceMs = 1000;
  channel_.reset();
  // The server has no right to kill the process, so it waits for its end.
  struct pollfd fd = {pidfd_.get(), POLLIN, 0};
  if (::poll(&fd, 1, kPatienceMs) == 1) ::waitpid(pid_, nullptr, 0);
}

}  // namespace sandglass::server
