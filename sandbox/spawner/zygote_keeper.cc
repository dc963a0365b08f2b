#include "sandbox/spawner/zygote_keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sandbox/os/files.h"
#include "sandbox/os/mount.h"
#include "sandbox/os/namespaces.h"
#include "sandbox/os/process.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"
#include "sandbox/spawner/layer.h"
#include "sandbox/wire/jail_layout.h"
#include "sandbox/wire/spawner_fds.h"
#include "sandbox/zygote/zygote.h"

namespace sandglass::sandbox {
namespace {

// A zygote that dies while it starts would probably die again at once.
constexpr int64_t kRetryNanos = 1'000'000'000;
constexpr int64_t kMaxRetryNanos = 60 * kRetryNanos;
// Imports take up to some seconds, and a caller that waits has another way
// meanwhile.
constexpr int64_t kPatienceNanos = 2'000'000'000;
// Longer than any import takes, and longer than any fork.
constexpr int64_t kStartNanos = 60'000'000'000;
constexpr int64_t kForkNanos = 3'000'000'000;
constexpr int kLookMs = 500;
constexpr int kMaxReadsAtOnce = 16;
constexpr uint64_t kScratchBytes = uint64_t{64} << 20;
constexpr uint64_t kScratchFiles = 4096;
// Above all numbers that a zygote's descriptors get, so that none is
// overwritten before it has been moved.
constexpr int kSafeFd = kZygoteOwnScriptFd + 1;

// Enters the image as root directory, as the runners will. The yard's /proc is
// in it, since an interpreter may need one.
// Some libraries write to the home directory or /tmp when they are imported;
// runners won't see that.
bool EnterImage(const std::string& image, const std::string& layer) {
  const os::Fd tree = os::CloneTree(YardImage(image).c_str());
  os::Fd libraries;
  if (!layer.empty()) {
    libraries = OpenLayer(layer);
    if (!libraries.valid()) return false;
  }
  const std::string root = kYardMount;
  const os::TmpfsOptions scratch = {.bytes = kScratchBytes,
                                    .inodes = kScratchFiles,
                                    .mode = 01777,
                                    .flags = os::kNoSuid | os::kNoDev};
  return tree.valid() && os::AttachTree(tree, kYardMount) &&
         os::BindMount("/proc", (root + "/proc").c_str()) &&
         os::MountTmpfs((root + "/tmp").c_str(), scratch) &&
         os::MountTmpfs((root + kHome).c_str(), scratch) &&
         (!libraries.valid() ||
          os::AttachTree(libraries, (root + kLibraries).c_str())) &&
         ::chdir(kYardMount) == 0 && os::PivotRoot(".", ".") &&
         os::DetachMount(".") && ::chdir("/") == 0;
}

std::vector<char*> Pointers(
    const google::protobuf::RepeatedPtrField<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

ZygoteKeeper::ZygoteKeeper(const internal::SpawnerConfig& config)
    : config_(config.zygote()),
      retry_at_ns_(os::MonotonicNanos() +
                   int64_t{config.zygote().start_delay_ms()} * 1'000'000),
      delayed_(config.zygote().start_delay_ms() > 0) {}

void ZygoteKeeper::RequestStart() {
  if (!std::exchange(delayed_, false)) return;
  retry_at_ns_ = 0;
  Tend();
}

void ZygoteKeeper::Become(int channel, int input, int output) const {
  os::SignalOnParentDeath(SIGKILL);
  if (!EnterImage(config_.image(), config_.layer())) return;
  const std::pair<int, int> places[] = {{input, 0},
                                        {output, 1},
                                        {output, 2},
                                        {channel, kZygoteChannelFd},
                                        {kZygoteLibraryFd, kZygoteOwnLibraryFd},
                                        {kZygoteScriptFd, kZygoteOwnScriptFd}};
  int from[std::size(places)];
  for (size_t i = 0; i < std::size(places); ++i) {
    from[i] = ::fcntl(places[i].first, F_DUPFD_CLOEXEC, kSafeFd);
    if (from[i] < 0) return;
  }
  for (size_t i = 0; i < std::size(places); ++i) {
    if (::dup2(from[i], places[i].second) < 0) return;
  }
  // All copies of a memfd's descriptor share one offset.
  ::lseek(kZygoteOwnScriptFd, 0, SEEK_SET);
  if (!os::CloseRange(3, kZygoteChannelFd - 1) || !os::CloseFrom(kSafeFd)) {
    return;
  }
  os::ResetSignals();
  const std::vector<char*> argv = Pointers(config_.argv());
  const std::vector<char*> envp = Pointers(config_.env());
  ::execve(argv[0], argv.data(), envp.data());
}

std::optional<ZygoteKeeper::Zygote> ZygoteKeeper::Start() {
  absl::StatusOr<std::pair<os::Fd, os::Fd>> channel = os::SeqPacketPair();
  int input[2];
  int output[2];
  if (!channel.ok() || ::pipe2(input, O_CLOEXEC) != 0) return std::nullopt;
  const os::Fd input_read(input[0]);
  // Closed here: its standard input is then a pipe at its end, like that of
  // most programs.
  os::Fd input_write(input[1]);
  if (::pipe2(output, O_CLOEXEC) != 0) return std::nullopt;
  Zygote zygote;
  zygote.words.reset(output[0]);
  const os::Fd output_write(output[1]);
  int pidfd = -1;
  zygote.pid = os::Clone3({.flags = os::kNewMount, .pidfd = &pidfd});
  if (zygote.pid == 0) {
    channel->first.reset();
    input_write.reset();
    Become(channel->second.get(), input_read.get(), output_write.get());
    std::fprintf(stderr, "sandglass-spawner: start of the zygote: %s\n",
                 os::ErrorText(errno).c_str());
    ::_exit(127);
  }
  if (zygote.pid < 0) return std::nullopt;
  zygote.pidfd.reset(pidfd);
  zygote.since_ns = os::MonotonicNanos();
  ::fcntl(zygote.words.get(), F_SETFL, O_NONBLOCK);
  zygote.channel = std::move(channel->first);
  return zygote;
}

void ZygoteKeeper::Tend() {
  const int64_t now = os::MonotonicNanos();
  for (Zygote& zygote : zygotes_) {
    if (!Hangs(zygote, now)) continue;
    std::fputs("sandglass-spawner: the zygote hangs; killing it\n", stderr);
    os::PidfdSendSignal(zygote.pidfd, SIGKILL);
    zygote.since_ns = now;  // only once, until its death is noted
  }
  if (!NeedsOne() || os::MonotonicNanos() < retry_at_ns_) return;
  delayed_ = false;
  if (std::optional<Zygote> zygote = Start()) {
    ++starts_;
    zygotes_.push_back(*std::move(zygote));
    return;
  }
  std::fprintf(stderr, "sandglass-spawner: clone of a zygote: %s\n",
               os::ErrorText(errno).c_str());
  retry_at_ns_ = os::MonotonicNanos() + kRetryNanos;
}

bool ZygoteKeeper::NeedsOne() const {
  // True unless one serves that hasn't forked too often, or one is being
  // started.
  return std::none_of(zygotes_.begin(), zygotes_.end(),
                      [&](const Zygote& zygote) {
                        return !zygote.retired &&
                               (!zygote.ready || config_.renew_after() == 0 ||
                                zygote.orders < config_.renew_after());
                      });
}

bool ZygoteKeeper::Hangs(const Zygote& zygote, int64_t now) {
  const int64_t age = now - zygote.since_ns;
  if (zygote.orders > zygote.replies) return age > kForkNanos;
  return (!zygote.ready || zygote.retired) && age > kStartNanos;
}

int ZygoteKeeper::WaitForTend() const {
  if (NeedsOne()) {
    const int64_t left = retry_at_ns_ - os::MonotonicNanos();
    return static_cast<int>(std::clamp<int64_t>(left, 1'000'000, kRetryNanos) /
                            1'000'000);
  }
  const bool owes =
      std::any_of(zygotes_.begin(), zygotes_.end(), [](const Zygote& zygote) {
        return !zygote.ready || zygote.retired ||
               zygote.orders > zygote.replies;
      });
  return owes ? kLookMs : -1;
}

bool ZygoteKeeper::Serves() const {
  return std::any_of(
      zygotes_.begin(), zygotes_.end(),
      [](const Zygote& zygote) { return zygote.ready && !zygote.retired; });
}

bool ZygoteKeeper::Comes() const {
  const int64_t now = os::MonotonicNanos();
  return std::any_of(
      zygotes_.begin(), zygotes_.end(), [&](const Zygote& zygote) {
        return !zygote.ready && now - zygote.since_ns < kPatienceNanos;
      });
}

bool ZygoteKeeper::OwesReplies() const {
  return std::any_of(
      zygotes_.begin(), zygotes_.end(),
      [](const Zygote& zygote) { return zygote.orders > zygote.replies; });
}

bool ZygoteKeeper::Order(FillOrder order, const std::string& filter,
                         absl::Span<const int> fds) {
  Zygote* zygote = Serving();
  order.filter_length =
      static_cast<uint32_t>(filter.size() / sizeof(sock_filter));
  if (zygote != nullptr) {
    const absl::string_view header(reinterpret_cast<const char*>(&order),
                                   sizeof(order));
    if (os::SendPacket(zygote->channel.get(), absl::StrCat(header, filter), fds,
                       os::Wait::kNo)
            .ok()) {
      if (zygote->orders++ == zygote->replies) {
        zygote->since_ns = os::MonotonicNanos();
      }
      return true;
    }
  }
  errno = EAGAIN;
  return false;
}

bool ZygoteKeeper::HandleDeath(pid_t pid) {
  const auto found =
      std::find_if(zygotes_.begin(), zygotes_.end(),
                   [&](const Zygote& zygote) { return zygote.pid == pid; });
  if (found == zygotes_.end()) return false;
  PassWords(*found);
  if (!found->retired) {
    ++deaths_;
    std::fputs("sandglass-spawner: the zygote died\n", stderr);
    retry_after_ns_ =
        found->orders > 0
            ? 0
            : std::clamp(2 * retry_after_ns_, kRetryNanos, kMaxRetryNanos);
    retry_at_ns_ = os::MonotonicNanos() + retry_after_ns_;
  }
  zygotes_.erase(found);
  return true;
}

void ZygoteKeeper::AddPolls(std::vector<struct pollfd>& polls) const {
  for (const Zygote& zygote : zygotes_) {
    polls.push_back({zygote.channel.get(), POLLIN, 0});
    polls.push_back({zygote.words.get(), POLLIN, 0});
  }
}

std::vector<FillReply> ZygoteKeeper::CollectReplies() {
  std::vector<FillReply> replies;
  for (Zygote& zygote : zygotes_) {
    PassWords(zygote);
    while (zygote.channel.valid()) {
      const absl::StatusOr<os::Packet> packet =
          os::ReceivePacket(zygote.channel.get(), os::Wait::kNo);
      if (absl::IsNotFound(packet.status())) break;
      FillReply reply = {};
      if (packet.ok()) {
        packet->data.copy(reinterpret_cast<char*>(&reply), sizeof(reply));
      }
      // A zygote that sends more than it was asked for could be read without
      // end.
      if (!packet.ok() || packet->data.size() != sizeof(reply) ||
          (reply.serial == 0 ? zygote.ready
                             : zygote.replies >= zygote.orders)) {
        GiveUp(zygote);
        break;
      }
      zygote.since_ns = os::MonotonicNanos();
      if (reply.serial == 0) {
        zygote.ready = true;
      } else {
        ++zygote.replies;
        replies.push_back(reply);
      }
    }
  }
  RetireAllButNewest();
  return replies;
}

void ZygoteKeeper::GiveUp(Zygote& zygote) {
  os::PidfdSendSignal(zygote.pidfd, SIGKILL);
  zygote.channel.reset();
}

void ZygoteKeeper::RetireAllButNewest() {
  const Zygote* newest = Serving();
  for (Zygote& zygote : zygotes_) {
    if (&zygote == newest || !zygote.ready || zygote.retired) continue;
    // It ends when it has served the orders that it was sent; its runners live
    // on.
    zygote.retired = true;
    zygote.since_ns = os::MonotonicNanos();
    ::shutdown(zygote.channel.get(), SHUT_WR);
  }
}

ZygoteKeeper::Zygote* ZygoteKeeper::Serving() {
  const auto found = std::find_if(
      zygotes_.rbegin(), zygotes_.rend(),
      [](const Zygote& zygote) { return zygote.ready && !zygote.retired; });
  return found == zygotes_.rend() ? nullptr : &*found;
}

void ZygoteKeeper::PassWords(Zygote& zygote) {
  char text[4096];
  // Doesn't read until there is no more, because the zygote may write without
  // end.
  for (int i = 0; i < kMaxReadsAtOnce; ++i) {
    const ssize_t size = ::read(zygote.words.get(), text, sizeof(text));
    if (size <= 0) return;
    zygote.line.append(text, static_cast<size_t>(size));
    for (size_t end; (end = zygote.line.find('\n')) != std::string::npos ||
                     zygote.line.size() > sizeof(text);) {
      std::fprintf(stderr, "sandglass-spawner: zygote: %s\n",
                   zygote.line.substr(0, end).c_str());
      zygote.line.erase(0, end == std::string::npos ? end : end + 1);
    }
  }
}

}  // namespace sandglass::sandbox
