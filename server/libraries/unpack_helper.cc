#include "server/libraries/unpack_helper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "sandbox/os/io.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"
#include "sandbox/yard/sandbox.h"
#include "server/base/clock.h"
#include "server/base/poll_until.h"
#include "server/libraries/unpack_process.h"

namespace sandglass::server {
namespace {

constexpr absl::Duration kReadyWait = absl::Seconds(10);
// For so long a shortage of processes, memory or descriptors is waited out.
constexpr absl::Duration kShortageWait = absl::Seconds(10);
constexpr absl::Duration kShortagePause = absl::Milliseconds(20);
// For so long the end of a process that was told to stop is waited for.
constexpr absl::Duration kEndWait = absl::Seconds(5);
// How often a cancellation is looked for if its token has no descriptor.
constexpr absl::Duration kCancelLook = absl::Milliseconds(100);

absl::Status GoneError() {
  return absl::UnavailableError(
      "the process that unpacks archives is gone; restart the daemon");
}

[[noreturn]] void DieBeforeExec(const char* what) {
  std::fprintf(stderr, "sandglassd: %s: %s: %s\n", kUnpackerName, what,
               os::ErrorText(errno).c_str());
  ::_exit(1);
}

// Runs in the child. It is executed anew, so that neither it nor what an
// archive takes over has a copy of what the daemon has read by now.
[[noreturn]] void BecomeHelper(int channel, int directory, int executable,
                               uid_t uid, gid_t gid) {
  // Numbers above every one that is in use or wanted, so that no descriptor is
  // overwritten before it is moved.
  const int safe = 1 + std::max({channel, directory, executable,
                                 kUnpackerChannelFd, kUnpackerDirectoryFd});
  channel = ::fcntl(channel, F_DUPFD_CLOEXEC, safe);
  directory = ::fcntl(directory, F_DUPFD_CLOEXEC, safe);
  executable = ::fcntl(executable, F_DUPFD_CLOEXEC, safe);
  if (channel < 0 || directory < 0 || executable < 0 ||
      !os::CloseRange(3, safe - 1) || ::dup2(channel, kUnpackerChannelFd) < 0 ||
      ::dup2(directory, kUnpackerDirectoryFd) < 0) {
    DieBeforeExec("pass on descriptors");
  }
  os::ResetSignals();
  (void)os::ForbidCrashHelper();  // else the layer core-limit says so
  if (const absl::Status dropped = sandbox::DropPrivileges(uid, gid);
      !dropped.ok()) {
    std::fprintf(stderr, "sandglassd: %s: %s\n", kUnpackerName,
                 std::string(dropped.message()).c_str());
    ::_exit(1);
  }
  std::string name = kUnpackerName;
  char* argv[] = {name.data(), nullptr};
  char* envp[] = {nullptr};
  os::ExecFd(executable, argv, envp);
  DieBeforeExec("exec");
}

// Waits for a packet. CANCELLED; DEADLINE_EXCEEDED, without words;
// OUT_OF_RANGE: there will be none.
absl::StatusOr<os::Packet> Receive(const os::Fd& from, absl::Duration time,
                                   const CancelToken* cancel) {
  const MonotonicTime end = After(Now(), time);
  for (;;) {
    if (cancel != nullptr && cancel->reason().has_value()) {
      return absl::CancelledError("the install was cancelled");
    }
    pollfd fds[] = {{from.get(), POLLIN, 0},
                    {cancel == nullptr ? -1 : cancel->fd(), POLLIN, 0}};
    if (!PollUntil(fds, std::size(fds),
                   std::min(end, After(Now(), kCancelLook))) &&
        Now() >= end) {
      return absl::DeadlineExceededError("");
    }
    if (fds[0].revents == 0) continue;
    absl::StatusOr<os::Packet> packet =
        os::ReceivePacket(from.get(), os::Wait::kNo);
    if (absl::IsNotFound(packet.status())) continue;
    if (!packet.ok()) return absl::OutOfRangeError(packet.status().message());
    return packet;
  }
}

// Waits for the answer to an order. Errors are those of Receive, and INTERNAL:
// it makes no sense, so the archive has taken the process over.
absl::StatusOr<UnpackAnswer> ReceiveAnswer(const os::Fd& from,
                                           absl::Duration time,
                                           const CancelToken* cancel) {
  const absl::StatusOr<os::Packet> packet = Receive(from, time, cancel);
  if (!packet.ok()) return packet.status();
  if (const auto answer = UnpackAnswer::Parse(packet->data)) return *answer;
  return absl::InternalError(
      "the process that unpacks it gave an answer that makes no sense");
}

absl::StatusOr<sandbox::FileResult> ResultOf(const UnpackAnswer& answer) {
  switch (answer.kind) {
    case UnpackAnswer::Kind::kDone:
      return sandbox::FileResult{static_cast<sandbox::FileCode>(answer.code),
                                 answer.error};
    case UnpackAnswer::Kind::kKilled:
      return absl::AbortedError(absl::StrCat(
          "the process that unpacks it was ended by signal ", answer.error));
    case UnpackAnswer::Kind::kShort:
      return absl::NotFoundError(
          absl::StrCat("no process could be made that unpacks it: ",
                       os::ErrorText(answer.error)));
    case UnpackAnswer::Kind::kUnconfined:
      break;
  }
  return absl::InternalError(
      "the process that is to unpack it could not give up its rights");
}

}  // namespace

absl::StatusOr<std::unique_ptr<UnpackHelper>> UnpackHelper::Start(
    const std::string& directory, uid_t uid, gid_t gid,
    const std::string& executable) {
  const os::Fd program(::open(executable.c_str(), O_PATH | O_CLOEXEC));
  if (!program.valid()) return os::ErrnoStatus("open ", executable);
  const os::Fd trees(
      ::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!trees.valid()) return os::ErrnoStatus("open ", directory);
  absl::StatusOr<std::pair<os::Fd, os::Fd>> channel = os::SeqPacketPair();
  if (!channel.ok()) return channel.status();
  int pidfd = -1;
  const pid_t pid = os::Clone3({.pidfd = &pidfd});
  if (pid < 0) return os::ErrnoStatus("clone3 of ", kUnpackerName);
  if (pid == 0) {
    BecomeHelper(channel->second.get(), trees.get(), program.get(), uid, gid);
  }
  channel->second.reset();
  std::unique_ptr<UnpackHelper> helper(
      new UnpackHelper(std::move(channel->first), os::Fd(pidfd), pid));
  const absl::StatusOr<os::Packet> ready =
      Receive(helper->channel_, kReadyWait, nullptr);
  if (ready.ok() && ready->data == kUnpackerName) return helper;
  return absl::IsDeadlineExceeded(ready.status())
             ? absl::DeadlineExceededError(
                   absl::StrCat(kUnpackerName, " doesn't start"))
             : absl::UnavailableError(
                   absl::StrCat(kUnpackerName, " ended as it started"));
}

absl::StatusOr<sandbox::FileResult> UnpackHelper::Unpack(
    const os::Fd& archive, const os::Fd& tree, const UnpackLimits& limits,
    CancelToken& cancel) const {
  const MonotonicTime patience = After(Now(), kShortageWait);
  for (;;) {
    absl::StatusOr<sandbox::FileResult> result =
        TryOnce(archive, tree, limits, cancel);
    if (!absl::IsNotFound(result.status())) return result;
    if (Until(patience) <= absl::ZeroDuration()) {
      return absl::ResourceExhaustedError(result.status().message());
    }
    if (cancel.reason().has_value()) {
      return absl::CancelledError("the install was cancelled");
    }
    absl::SleepFor(kShortagePause);
  }
}

absl::StatusOr<sandbox::FileResult> UnpackHelper::TryOnce(
    const os::Fd& archive, const os::Fd& tree, const UnpackLimits& limits,
    CancelToken& cancel) const {
  absl::StatusOr<std::pair<os::Fd, os::Fd>> pair = os::SeqPacketPair();
  if (!pair.ok()) return absl::NotFoundError(pair.status().message());
  const os::Fd own = std::move(pair->first);
  const UnpackOrder order = {
      .max_bytes = limits.bounds.max_bytes,
      .max_files = limits.bounds.max_files,
      .memory_bytes = limits.memory_bytes,
      .cpu_seconds =
          static_cast<uint64_t>(absl::ToInt64Seconds(limits.time)) + 1};
  int fds[kOrderFds] = {};
  fds[kOrderArchive] = archive.get();
  fds[kOrderTree] = tree.get();
  fds[kOrderCaller] = pair->second.get();
  const absl::Status sent =
      os::SendPacket(channel_.get(), order.ToText(), fds, os::Wait::kYes);
  if (absl::IsResourceExhausted(sent)) {
    return absl::NotFoundError(sent.message());
  }
  if (!sent.ok()) return GoneError();
  pair->second.reset();
  absl::StatusOr<UnpackAnswer> answer =
      ReceiveAnswer(own, limits.time, &cancel);
  if (answer.ok()) return ResultOf(*answer);
  if (absl::IsInternal(answer.status())) return answer.status();
  if (absl::IsOutOfRange(answer.status())) {
    // The helper closes an order of which it got no descriptors.
    if (Gone()) return GoneError();
    return absl::NotFoundError(
        "the process that unpacks archives got no descriptors");
  }
  // ORDER: whoever removes the tree must not do it while it is written to.
  ::shutdown(own.get(), SHUT_WR);
  const bool ended =
      !absl::IsDeadlineExceeded(ReceiveAnswer(own, kEndWait, nullptr).status());
  const std::string still = ended ? "" : "; its process can't be ended";
  if (absl::IsCancelled(answer.status())) {
    return absl::CancelledError(absl::StrCat(answer.status().message(), still));
  }
  return absl::DeadlineExceededError(
      absl::StrCat("unpacking takes longer than ",
                   absl::FormatDuration(limits.time), still));
}

bool UnpackHelper::Gone() const {
  pollfd fd = {pidfd_.get(), POLLIN, 0};
  return ::poll(&fd, 1, 0) == 1;
}

UnpackHelper::~UnpackHelper() {
  constexpr int kPatienceMs = 1000;
  channel_.reset();
  pollfd fd = {pidfd_.get(), POLLIN, 0};
  if (::poll(&fd, 1, kPatienceMs) == 1) ::waitpid(pid_, nullptr, 0);
}

}  // namespace sandglass::server
