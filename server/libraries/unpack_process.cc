#include "server/libraries/unpack_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "policy/seccomp/unpack_filter.h"
#include "sandbox/archive/tar.h"
#include "sandbox/archive/unpack.h"
#include "sandbox/os/io.h"
#include "sandbox/os/landlock.h"
#include "sandbox/os/process.h"
#include "sandbox/os/rights.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/os/status.h"
#include "sandbox/wire/file_code.h"

namespace sandglass::server {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// The sanitizers' runtimes make other calls and take much address space.
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

constexpr size_t kReadAhead = size_t{1} << 20;
// The unpacking process's own descriptors are 0 to 2, archive, tree and pipe;
// at most four more are open at a time.
constexpr rlim_t kOpenFiles = 32;
// The exit status of a process that could not give up its rights.
constexpr int kUnconfined = 2;
constexpr int kMaxErrno = 4095;

// What the process says through its pipe.
struct PipeAnswer {
  int code = 0;
  int error = 0;
};

// One archive that is being unpacked.
struct Work {
  os::Fd caller;
  os::Fd process;  // a pidfd
  os::Fd answer;   // the pipe's reading end
  pid_t pid = 0;
  bool stopped = false;  // it was killed, and its end is waited for
};

// Lowers a limit; one that is lower already stays.
bool Limit(decltype(RLIMIT_AS) resource, rlim_t soft, rlim_t hard) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0) return false;
  limit.rlim_max = std::min(limit.rlim_max, hard);
  limit.rlim_cur = std::min({limit.rlim_cur, limit.rlim_max, soft});
  return ::setrlimit(resource, &limit) == 0;
}

bool SetLimits(const UnpackOrder& order) {
  return (kSanitized ||
          Limit(RLIMIT_AS, order.memory_bytes, order.memory_bytes)) &&
         Limit(RLIMIT_FSIZE, order.max_bytes, order.max_bytes) &&
         Limit(RLIMIT_CPU, order.cpu_seconds, order.cpu_seconds + 1) &&
         Limit(RLIMIT_NOFILE, kOpenFiles, kOpenFiles) &&
         Limit(RLIMIT_NPROC, 0, 0);
}

sandbox::FileResult UnpackInto(const UnpackOrder& order, const os::Fd& archive,
                               const os::Fd& tree) {
  off_t at = 0;
  // Reads ahead, since most files are smaller than a header and its padding.
  std::string buffer(kReadAhead, '\0');
  std::string_view ahead;
  sandbox::TarReader reader([&](char* data, size_t size) -> ssize_t {
    if (ahead.empty()) {
      const ssize_t got =
          ::pread(archive.get(), buffer.data(), buffer.size(), at);
      if (got <= 0) return got;
      at += got;
      ahead = {buffer.data(), static_cast<size_t>(got)};
    }
    const size_t taken = ahead.copy(data, size);
    ahead.remove_prefix(taken);
    return static_cast<ssize_t>(taken);
  });
  sandbox::Unpacker unpacker(tree, order.max_bytes, order.max_files);
  return unpacker.Run(reader);
}

[[noreturn]] void RunWork(const UnpackWalls& walls, const UnpackOrder& order,
                          pid_t parent, const os::Fd& archive,
                          const os::Fd& tree, const os::Fd& answer) {
  if (!walls.Raise(order, parent, archive, tree, answer)) {
    ::_exit(kUnconfined);
  }
  const sandbox::FileResult result = UnpackInto(order, archive, tree);
  const PipeAnswer said = {static_cast<int>(result.code), result.error};
  const bool told = os::WriteAll(
      answer.get(), {reinterpret_cast<const char*>(&said), sizeof(said)});
  ::_exit(told ? 0 : 1);
}

void SendAnswer(const os::Fd& caller, const UnpackAnswer& answer) {
  // A caller that is gone needs no answer.
  (void)os::SendPacket(caller.get(), answer.ToText(), {}, os::Wait::kYes);
}

// Takes an order and makes the process that carries it out. False: there will
// be no more orders.
bool HandleOrder(const os::Fd& channel, const UnpackWalls& walls,
                 std::vector<Work>& works) {
  absl::StatusOr<os::Packet> packet =
      os::ReceivePacket(channel.get(), os::Wait::kNo);
  if (absl::IsNotFound(packet.status())) return true;
  if (!packet.ok()) return false;
  // The caller notices that its end is closed.
  if (packet->lost_fds) return true;
  const std::optional<UnpackOrder> order = UnpackOrder::Parse(packet->data);
  if (!order || packet->fds.size() != kOrderFds) return false;
  Work work;
  work.caller = std::move(packet->fds[kOrderCaller]);
  const os::Fd archive = std::move(packet->fds[kOrderArchive]);
  const os::Fd tree = std::move(packet->fds[kOrderTree]);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    SendAnswer(work.caller, {UnpackAnswer::Kind::kShort, 0, errno});
    return true;
  }
  work.answer.reset(ends[0]);
  const os::Fd answer(ends[1]);
  const pid_t parent = ::getpid();
  int pidfd = -1;
  work.pid = os::Clone3({.pidfd = &pidfd});
  if (work.pid == 0) {
    RunWork(walls, *order, parent, archive, tree, answer);
  }
  if (work.pid < 0) {
    SendAnswer(work.caller, {UnpackAnswer::Kind::kShort, 0, errno});
    return true;
  }
  work.process.reset(pidfd);
  works.push_back(std::move(work));
  return true;
}

// Reaps the process, which has ended, and says how.
void EndWork(const Work& work) {
  int status = 0;
  while (::waitpid(work.pid, &status, 0) < 0 && errno == EINTR) {
  }
  UnpackAnswer answer;
  PipeAnswer said;
  if (WIFSIGNALED(status)) {
    answer = {UnpackAnswer::Kind::kKilled, 0, WTERMSIG(status)};
  } else if (WEXITSTATUS(status) != 0 ||
             ::read(work.answer.get(), &said, sizeof(said)) != sizeof(said)) {
    answer.kind = UnpackAnswer::Kind::kUnconfined;
  } else {
    answer = {UnpackAnswer::Kind::kDone, said.code, said.error};
  }
  SendAnswer(work.caller, answer);
}

void ServeOrders(const os::Fd& channel, const UnpackWalls& walls) {
  std::vector<Work> works;
  std::vector<pollfd> fds;
  for (;;) {
    fds.assign(1, {channel.get(), POLLIN, 0});
    for (const Work& work : works) {
      fds.push_back({work.stopped ? -1 : work.caller.get(), POLLIN, 0});
      fds.push_back({work.process.get(), POLLIN, 0});
    }
    if (::poll(fds.data(), fds.size(), -1) < 0) {
      if (errno != EINTR) ::usleep(os::kShortagePauseMicros);
      continue;
    }
    for (size_t i = works.size(); i-- > 0;) {
      Work& work = works[i];
      if (fds[2 * i + 1].revents != 0) {
        work.stopped = true;
        (void)os::PidfdSendSignal(work.process, SIGKILL);
      }
      if (fds[2 * i + 2].revents == 0) continue;
      EndWork(work);
      works.erase(works.begin() + static_cast<std::ptrdiff_t>(i));
    }
    // ORDER: last, since it makes the list longer.
    if (fds[0].revents != 0 && !HandleOrder(channel, walls, works)) return;
  }
}

// Takes from this process and its children every right to files but that to
// write below the directory.
bool MayOnlyFill(const os::Fd& directory, int landlock_abi) {
  if (landlock_abi == 0) return true;
  const os::Fd ruleset = os::MakeLandlockFillRuleset(landlock_abi, directory);
  return ruleset.valid() && os::LandlockRestrictSelf(ruleset);
}

// Reads as many numbers as there are, and nothing else.
template <typename Number>
bool ParseNumbers(absl::string_view text, const std::vector<Number*>& numbers) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  if (words.size() != numbers.size()) return false;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!absl::SimpleAtoi(words[i], numbers[i])) return false;
  }
  return true;
}

}  // namespace

std::string UnpackOrder::ToText() const {
  return absl::StrCat(max_bytes, " ", max_files, " ", memory_bytes, " ",
                      cpu_seconds);
}

std::optional<UnpackOrder> UnpackOrder::Parse(absl::string_view text) {
  UnpackOrder order;
  if (!ParseNumbers<uint64_t>(
          text, {&order.max_bytes, &order.max_files, &order.memory_bytes,
                 &order.cpu_seconds})) {
    return std::nullopt;
  }
  return order;
}

std::string UnpackAnswer::ToText() const {
  return absl::StrCat(static_cast<int>(kind), " ", code, " ", error);
}

std::optional<UnpackAnswer> UnpackAnswer::Parse(absl::string_view text) {
  UnpackAnswer answer;
  int kind = -1;
  if (!ParseNumbers<int>(text, {&kind, &answer.code, &answer.error}) ||
      kind < 0 || kind > static_cast<int>(Kind::kUnconfined) ||
      answer.code < 0 || answer.code >= sandbox::kFileCodeCount ||
      answer.error < 0 || answer.error > kMaxErrno) {
    return std::nullopt;
  }
  answer.kind = static_cast<Kind>(kind);
  return answer;
}

absl::StatusOr<UnpackWalls> UnpackWalls::Prepare() {
  UnpackWalls walls;
  walls.null_.reset(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!walls.null_.valid()) return os::ErrnoStatus("open /dev/null");
  absl::StatusOr<policy::BpfProgram> filter = policy::MakeUnpackFilter();
  if (!filter.ok()) return filter.status();
  walls.filter_ = *std::move(filter);
  walls.landlock_abi_ = os::LandlockAbi();
  return walls;
}

bool UnpackWalls::Raise(const UnpackOrder& order, pid_t parent,
                        const os::Fd& archive, const os::Fd& tree,
                        const os::Fd& answer) const {
  for (int standard = 0; standard < 3; ++standard) {
    if (::dup2(null_.get(), standard) < 0) return false;
  }
  int kept[] = {archive.get(), tree.get(), answer.get()};
  std::sort(std::begin(kept), std::end(kept));
  if (!os::CloseAllBut(kept) || !os::DieWithParent(parent)) return false;
  // ORDER: the filter refuses the calls that set limits.
  return MayOnlyFill(tree, landlock_abi_) && SetLimits(order) &&
         (kSanitized || os::InstallSeccompFilter(filter_));
}

bool IsUnpacker(int argc, const char* const* argv) {
  return argc == 1 && std::strcmp(argv[0], kUnpackerName) == 0;
}

int ServeUnpacker() {
  if (::fcntl(kUnpackerChannelFd, F_SETFD, FD_CLOEXEC) != 0 ||
      ::fcntl(kUnpackerDirectoryFd, F_SETFD, FD_CLOEXEC) != 0) {
    std::fprintf(stderr, "%s runs only below a daemon; start sandglassd\n",
                 kUnpackerName);
    return 2;
  }
  // A signal to the terminal's whole process group is for the server to handle.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    ::signal(signal, SIG_IGN);
  }
  (void)os::SetProcessName("unpacker");
  const os::Fd channel(kUnpackerChannelFd);
  os::Fd directory(kUnpackerDirectoryFd);
  const absl::StatusOr<UnpackWalls> walls = UnpackWalls::Prepare();
  // The end of the channel says it too, should the parent be dead already.
  if (!walls.ok() || !os::SignalOnParentDeath(SIGKILL) ||
      !os::SetNoNewPrivs() || !os::SetNonDumpable() ||
      // The helper itself opens and reads no file.
      !MayOnlyFill(directory, walls->landlock_abi())) {
    std::fprintf(stderr, "%s: can't give up its rights: %s\n", kUnpackerName,
                 walls.ok() ? os::ErrorText(errno).c_str()
                            : std::string(walls.status().message()).c_str());
    return 1;
  }
  directory.reset();
  if (!os::SendPacket(channel.get(), kUnpackerName, {}, os::Wait::kYes).ok()) {
    return 1;
  }
  ServeOrders(channel, *walls);
  // What is still unpacked ends with this process.
  ::_exit(0);
}

}  // namespace sandglass::server
