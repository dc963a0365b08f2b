#include "tests/security/host/host_watch.h"

#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace sandglass::testing {
namespace {

constexpr uid_t kNobody = 65534;
constexpr char kSecret[] = "do-not-leak-me: bait";

void Require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "no bait: " << what << ": "
            << std::generic_category().message(errno) << "\n";
  std::abort();
}

// Settings that change by themselves, or with anything that a host does.
bool IsVolatile(const std::string& path) {
  static const std::set<std::string> kNames = {
      "/proc/sys/fs/aio-nr",
      "/proc/sys/fs/dentry-state",
      "/proc/sys/fs/file-nr",
      "/proc/sys/fs/inode-nr",
      "/proc/sys/fs/inode-state",
      "/proc/sys/fs/quota",
      "/proc/sys/kernel/ns_last_pid",
      "/proc/sys/kernel/pty/nr",
      "/proc/sys/kernel/random/boot_id",
      "/proc/sys/kernel/random/entropy_avail",
      "/proc/sys/kernel/random/uuid",
      "/proc/sys/vm/stat_refresh",
  };
  return kNames.contains(path) ||
         absl::StartsWith(path, "/proc/sys/net/netfilter/") ||
         absl::StartsWith(path, "/proc/sys/fs/binfmt_misc") ||
         absl::StartsWith(path, "/proc/sys/kernel/sched_domain") ||
         absl::StartsWith(path, "/proc/sys/net/ipv4/conf") ||
         absl::StartsWith(path, "/proc/sys/net/ipv4/neigh") ||
         absl::StartsWith(path, "/proc/sys/net/ipv6/conf") ||
         absl::StartsWith(path, "/proc/sys/net/ipv6/neigh");
}

std::string Digest(const std::string& text) {
  return absl::StrCat(text.size(), " bytes, ", std::hash<std::string>()(text));
}

// All but the time of reading.
std::string Describe(const struct stat& facts) {
  return absl::StrCat(
      "mode ", absl::Hex(facts.st_mode), " owner ", facts.st_uid, ":",
      facts.st_gid, " links ", facts.st_nlink, " size ", facts.st_size, " at ",
      facts.st_mtim.tv_sec, ".", facts.st_mtim.tv_nsec, " changed ",
      facts.st_ctim.tv_sec, ".", facts.st_ctim.tv_nsec);
}

// Of `text`, which may have a hundred, those that make the difference.
std::string LinesNotIn(const std::string& other, const std::string& text) {
  const std::multiset<std::string> here = absl::StrSplit(text, '\n');
  const std::multiset<std::string> there = absl::StrSplit(other, '\n');
  std::vector<std::string> only;
  std::set_difference(here.begin(), here.end(), there.begin(), there.end(),
                      std::back_inserter(only));
  return only.empty() ? "without a line" : absl::StrJoin(only, "; ");
}

std::string FactsOf(const std::string& path) {
  struct stat facts = {};
  if (::lstat(path.c_str(), &facts) != 0) return "is gone";
  return Describe(facts);
}

// What the hostile programs run on, with its content as the page cache has it.
constexpr const char* kImageFiles[] = {
    "/usr/bin/bash",
    "/usr/bin/env",
    "/usr/bin/python3",
    "/usr/bin/su",
    "/usr/lib/x86_64-linux-gnu/libc.so.6",
    "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
    "/usr/share/common-licenses/GPL-3",
    "/etc/passwd",
    "/etc/group",
    "/etc/ld.so.cache",
};

sockaddr_un UnixName(const std::string& path, socklen_t& size) {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  if (path.front() == '@') name.sun_path[0] = '\0';
  size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  return name;
}

os::Fd ListenUnix(const std::string& path) {
  socklen_t size = 0;
  const sockaddr_un name = UnixName(path, size);
  os::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  Require(
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name), size) == 0 &&
          ::listen(fd.get(), 5) == 0,
      "unix socket");
  return fd;
}

// On the host's loopback, at a port of the kernel's choice.
os::Fd BindInet(int type, uint16_t& port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  os::Fd fd(::socket(AF_INET, type | SOCK_CLOEXEC, 0));
  Require(::bind(fd.get(), any, size) == 0 &&
              ::getsockname(fd.get(), any, &size) == 0,
          "inet socket");
  if (type == SOCK_STREAM) Require(::listen(fd.get(), 5) == 0, "listen");
  port = ntohs(address.sin_port);
  return fd;
}

bool IsReadable(int fd) {
  struct pollfd ready = {fd, POLLIN, 0};
  return ::poll(&ready, 1, 0) == 1;
}

// In the child: tells each signal that reaches it, until its parent goes.
[[noreturn]] void NoteSignals(int tell, int parent_alive) {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  const timespec step = {0, 50'000'000};
  for (;;) {
    const int signal = ::sigtimedwait(&all, nullptr, &step);
    if (signal > 0) (void)!::write(tell, &signal, sizeof(signal));
    if (IsReadable(parent_alive)) ::_exit(0);
  }
}

}  // namespace

HostWatch::HostWatch() {
  // What others mount on this host meanwhile is not looked at.
  Require(::unshare(CLONE_NEWNS) == 0 &&
              ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0,
          "mount namespace");
  MakeFiles();
  MakeSockets();
  MakeIpc();
  StartProcess();
  kernel_log_.reset(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (kernel_log_.valid()) ::lseek(kernel_log_.get(), 0, SEEK_END);
  before_ = TakeInventory();
}

HostWatch::~HostWatch() {
  if (process_.pid > 0) {
    Kill(process_, SIGKILL);
    ::waitpid(process_.pid, nullptr, 0);
  }
  ::shmctl(shared_memory_, IPC_RMID, nullptr);
  ::msgctl(queue_, IPC_RMID, nullptr);
  ::semctl(semaphore_, 0, IPC_RMID);
}

void HostWatch::MakeFiles() {
  for (const char* name : {"file", "program"}) {
    const std::string path = bait_.Path(name);
    WriteFile(path, kSecret);
    Require(::chown(path.c_str(), kNobody, kNobody) == 0, "chown");
  }
  Require(::chmod(bait_.Path("file").c_str(), 0666) == 0 &&
              ::chmod(bait_.Path("program").c_str(), 04777) == 0 &&
              ::symlink("file", bait_.Path("link").c_str()) == 0 &&
              ::chmod(bait_.path().c_str(), 0777) == 0,
          "files");
}

void HostWatch::MakeSockets() {
  abstract_name_ = absl::StrCat("@sandglass-bait-", ::getpid());
  listeners_[0] = ListenUnix(socket_path());
  Require(::chmod(socket_path().c_str(), 0777) == 0, "chmod");
  listeners_[1] = ListenUnix(abstract_name_);
  listeners_[2] = BindInet(SOCK_STREAM, tcp_port_);
  listeners_[3] = BindInet(SOCK_DGRAM, udp_port_);
}

void HostWatch::MakeIpc() {
  key_ = 0x5a000000 | (::getpid() & 0xffffff);
  shared_memory_ = ::shmget(key_, 4096, IPC_CREAT | IPC_EXCL | 0666);
  queue_ = ::msgget(key_, IPC_CREAT | IPC_EXCL | 0666);
  semaphore_ = ::semget(key_, 1, IPC_CREAT | IPC_EXCL | 0666);
  Require(shared_memory_ >= 0 && queue_ >= 0 && semaphore_ >= 0, "System V");
}

void HostWatch::StartProcess() {
  int tell[2];
  int alive[2];
  Require(::pipe2(tell, O_CLOEXEC | O_NONBLOCK) == 0 &&
              ::pipe2(alive, O_CLOEXEC) == 0,
          "pipe");
  const pid_t child = ::fork();
  Require(child >= 0, "fork");
  if (child == 0) {
    ::close(alive[1]);
    if (::setgroups(0, nullptr) != 0 ||
        ::setresgid(kNobody, kNobody, kNobody) != 0 ||
        ::setresuid(kNobody, kNobody, kNobody) != 0) {
      ::_exit(1);
    }
    const int ready = 0;
    (void)!::write(tell[1], &ready, sizeof(ready));
    NoteSignals(tell[1], alive[0]);
  }
  ::close(tell[1]);
  ::close(alive[0]);
  process_tells_.reset(tell[0]);
  // Goes with this process, whatever ends it.
  (void)::fcntl(alive[1], F_SETFD, FD_CLOEXEC);
  int ready = -1;
  struct pollfd fds = {tell[0], POLLIN, 0};
  Require(::poll(&fds, 1, 10000) == 1 &&
              ::read(tell[0], &ready, sizeof(ready)) == sizeof(ready),
          "process");
  process_ = FindProcess(child).value_or(Process{});
  Require(process_.pid == child, "process");
}

void HostWatch::AddBait(Facts& facts) const {
  std::error_code ignored;
  std::string names;
  for (const auto& entry :
       std::filesystem::directory_iterator(bait_.path(), ignored)) {
    const std::string name = entry.path().filename();
    facts["bait " + name] = FactsOf(entry.path());
    if (entry.is_regular_file(ignored)) {
      facts["content of bait " + name] = ReadFile(entry.path());
    }
  }
  for (const auto& [name, fd] :
       {std::pair("unix", &listeners_[0]),
        std::pair("abstract", &listeners_[1]), std::pair("tcp", &listeners_[2]),
        std::pair("udp", &listeners_[3])}) {
    facts[absl::StrCat("somebody at the ", name, " socket")] =
        IsReadable(fd->get()) ? "yes" : "no";
  }
  struct shmid_ds memory = {};
  struct msqid_ds queue = {};
  ::shmctl(shared_memory_, IPC_STAT, &memory);
  ::msgctl(queue_, IPC_STAT, &queue);
  facts["System V"] = absl::StrCat(
      "attached by ", memory.shm_lpid, " at ", memory.shm_atime, ", changed ",
      memory.shm_ctime, "; queue holds ", queue.msg_qnum, ", sent by ",
      queue.msg_lspid, "; semaphore ", ::semctl(semaphore_, 0, GETVAL), " by ",
      ::semctl(semaphore_, 0, GETPID));
  facts["process"] = !IsAlive(process_)                 ? "is dead"
                     : IsReadable(process_tells_.get()) ? "got a signal"
                                                        : "is untouched";
  facts["process is traced by"] = StatusOf(process_.pid)["TracerPid"];
  facts["groups of the process"] = absl::StrJoin(GroupsOf(process_.pid), " ");
}

HostWatch::Facts HostWatch::TakeInventory() const {
  Facts facts;
  AddBait(facts);
  std::error_code ignored;
  for (auto entry = std::filesystem::recursive_directory_iterator(
           "/proc/sys",
           std::filesystem::directory_options::skip_permission_denied, ignored);
       entry != std::filesystem::recursive_directory_iterator();
       entry.increment(ignored)) {
    const std::string path = entry->path();
    if (IsVolatile(path)) {
      if (entry->is_directory(ignored)) entry.disable_recursion_pending();
      continue;
    }
    if (entry->is_regular_file(ignored)) facts[path] = ReadFile(path);
  }
  for (const char* path : {"/proc/modules", "/proc/swaps"}) {
    facts[path] = ReadFile(path);
  }
  // Without what unit tests mount in directories of their own, which goes when
  // these are removed.
  for (const absl::string_view line :
       absl::StrSplit(ReadFile("/proc/self/mountinfo"), '\n')) {
    if (!absl::StrContains(line, "/dev/shm/sandglass-unit-")) {
      absl::StrAppend(&facts["/proc/self/mountinfo"], line, "\n");
    }
  }
  for (const char* path : kImageFiles) {
    facts[path] = FactsOf(std::filesystem::canonical(path, ignored));
    facts[absl::StrCat("content of ", path)] = Digest(ReadFile(path));
  }
  for (const char* path : {"/usr/bin", "/usr/sbin", "/usr/lib", "/etc", "/"}) {
    facts[absl::StrCat("directory ", path)] = FactsOf(path);
  }
  for (const char* path : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                           "/dev/urandom", "/dev/tty"}) {
    struct stat device = {};
    ::stat(path, &device);
    facts[path] = absl::StrCat("mode ", absl::Hex(device.st_mode), " owner ",
                               device.st_uid, ":", device.st_gid);
  }
  struct utsname names = {};
  ::uname(&names);
  facts["host name"] = absl::StrCat(names.nodename, " ", names.domainname);
  // Tests of the clock's setting are others'.
  timespec real = {};
  timespec boot = {};
  ::clock_gettime(CLOCK_REALTIME, &real);
  ::clock_gettime(CLOCK_BOOTTIME, &boot);
  // Halves of a minute, and a quarter off, so that slewing doesn't matter.
  facts["clock"] = absl::StrCat((real.tv_sec - boot.tv_sec + 8) / 32);
  return facts;
}

std::vector<std::string> HostWatch::Changes() {
  std::vector<std::string> changes;
  const Facts now = TakeInventory();
  for (const auto& [name, value] : before_) {
    const auto found = now.find(name);
    if (found == now.end()) {
      changes.push_back(absl::StrCat(name, " is gone"));
    } else if (found->second != value) {
      changes.push_back(
          absl::StrCat(name, " was ", LinesNotIn(found->second, value),
                       " and is ", LinesNotIn(value, found->second)));
    }
  }
  for (const auto& [name, value] : now) {
    if (!before_.contains(name)) {
      changes.push_back(absl::StrCat(name, " is new"));
    }
  }
  // Told once.
  before_ = now;
  std::array<char, 8192> record = {};
  while (kernel_log_.valid()) {
    const ssize_t size =
        ::read(kernel_log_.get(), record.data(), record.size() - 1);
    if (size < 0 && errno == EPIPE) continue;  // overrun
    if (size <= 0) break;
    const std::string text(record.data(), static_cast<size_t>(size));
    for (const char* trouble :
         {"BUG:", "WARNING:", "Oops", "general protection fault, probably",
          "INFO: task ", "rcu_sched detected", "soft lockup", "UBSAN", "KASAN",
          "unregister_netdevice"}) {
      if (absl::StrContains(text, trouble)) {
        changes.push_back(absl::StrCat("the kernel says: ", text));
      }
    }
  }
  return changes;
}

}  // namespace sandglass::testing
