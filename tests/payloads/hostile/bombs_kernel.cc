// Bombs of what the kernel keeps for a program: messages, locks, names; and
// sizes that no file can have.

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/payloads/hostile/bombs.h"

namespace sandglass::hostile {
namespace {

// ---- what waits in the kernel ----

int FillUp(int fd) {
  if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) return errno;
  while (write(fd, Block(), kMiB) > 0 || write(fd, Block(), 4096) > 0) continue;
  return errno == EAGAIN ? 0 : errno;
}

int Pipes(long) {
  int ends[2];
  if (pipe(ends) != 0) return errno;
  (void)fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(kMiB));
  return FillUp(ends[1]);
}

int Grow(int fd) {
  const int size = static_cast<int>(8 * kMiB);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
  return fd;
}

int UnixSockets(long i) {
  int ends[2];
  if (socketpair(AF_UNIX, i % 2 == 0 ? SOCK_STREAM : SOCK_SEQPACKET, 0, ends) !=
      0) {
    return errno;
  }
  const int error = FillUp(Grow(ends[0]));
  return error == EMSGSIZE ? 0 : error;
}

sockaddr_in Local() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

int UdpSockets(long) {
  sockaddr_in address = Local();
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  Grow(fd);
  if (bind(fd, any, size) != 0 || getsockname(fd, any, &size) != 0) {
    return errno;
  }
  for (int i = 0; i < 150; ++i) {
    if (sendto(fd, Block(), 1400, 0, any, size) < 0 && errno != EAGAIN) {
      return errno;
    }
  }
  return 0;
}

int TcpSockets(long) {
  sockaddr_in address = Local();
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  if (server < 0) return errno;
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  if (client < 0) return errno;
  if (bind(server, any, size) != 0 || listen(server, 1) != 0 ||
      getsockname(server, any, &size) != 0 || connect(client, any, size) != 0) {
    return errno;
  }
  const int accepted = accept(server, nullptr, nullptr);
  if (accepted < 0) return errno;
  close(server);
  Grow(accepted);
  return FillUp(Grow(client));
}

// Nobody accepts: the kernel charges for what waits in such a connection when
// somebody does.
int TcpBacklog(long) {
  sockaddr_in address = Local();
  socklen_t size = sizeof(address);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  static int server = -1;
  static int connections = 0;
  if (server < 0 || ++connections % 400 == 0) {
    server = socket(AF_INET, SOCK_STREAM, 0);
    if (server < 0) return errno;
    Grow(server);
    if (bind(server, any, size) != 0 || listen(server, 4096) != 0) return errno;
  }
  if (getsockname(server, any, &size) != 0) return errno;
  const int client = socket(AF_INET, SOCK_STREAM, 0);
  if (client < 0) return errno;
  if (connect(client, any, size) != 0) return errno;
  return FillUp(client);
}

// Whoever asks for an address that isn't there is told so, and doesn't listen.
int Netlink(long) {
  const int fd = Grow(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
  if (fd < 0) return errno;
  struct {
    nlmsghdr header;
    char rest[4000];
  } message = {};
  message.header.nlmsg_len = sizeof(message);
  message.header.nlmsg_type = RTM_NEWLINK;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  for (int i = 0; i < 300; ++i) {
    if (send(fd, &message, sizeof(message), MSG_DONTWAIT) < 0) break;
  }
  return 0;
}

int NetlinkSockets(long) {
  const int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
  sockaddr_nl address = {};
  address.nl_family = AF_NETLINK;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  return fd < 0 ? errno : Answer(bind(fd, any, sizeof(address)));
}

int UnixNames(long i) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (fd < 0) return errno;
  struct {
    sa_family_t family = AF_UNIX;
    char name[108] = {};
  } address;
  snprintf(address.name + 1, 100, "%d-%090ld", static_cast<int>(getpid()), i);
  return Answer(bind(fd, reinterpret_cast<sockaddr*>(&address), 110));
}

// A few thousand in each file, from its end: the kernel goes through a list.
int Lock(int command, long i) {
  constexpr long kInOneFile = 2000;
  static int fd = -1;
  if (i % kInOneFile == 0) {
    char name[64];
    Name(name, sizeof(name), "/tmp/locked", i);
    fd = open(name, O_CREAT | O_RDWR, 0600);
    if (fd < 0) return errno;
  }
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_start = (long{1} << 40) - 2 * (i % kInOneFile);
  lock.l_len = 1;
  return Answer(fcntl(fd, command, &lock));
}
int PosixLocks(long i) { return Lock(F_SETLK, i); }
int FileLocks(long i) { return Lock(F_OFD_SETLK, i); }

int Timers(long) {
  timer_t timer;
  return Answer(timer_create(CLOCK_MONOTONIC, nullptr, &timer));
}

int Signals(long i) {
  sigset_t set;
  sigfillset(&set);
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (i == 0) sigprocmask(SIG_BLOCK, &set, nullptr);
  return Answer(sigqueue(getpid(), SIGRTMIN, sigval{}));
}

int FutexHash(long) {
  // PR_FUTEX_HASH, PR_FUTEX_HASH_SET_SLOTS
  return Answer(prctl(78, 1, 1UL << 24, 0, 0));
}

int Landlock(long i) {
  static const int ruleset = [] {
    landlock_ruleset_attr attributes = {};
    attributes.handled_access_fs = LANDLOCK_ACCESS_FS_READ_FILE;
    return static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes,
                                    sizeof(attributes), 0));
  }();
  char name[64];
  Name(name, sizeof(name), "/tmp/rule", i);
  const int fd = open(name, O_CREAT | O_RDWR, 0600);
  if (fd < 0) return errno;
  landlock_path_beneath_attr rule = {};
  rule.allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
  rule.parent_fd = fd;
  const int error = Answer(syscall(SYS_landlock_add_rule, ruleset,
                                   LANDLOCK_RULE_PATH_BENEATH, &rule, 0));
  close(fd);
  return error;
}

// Names that aren't there, of which the kernel remembers that they aren't.
int MissingNames(long i) {
  char name[300];
  snprintf(name, sizeof(name), "/usr/share/doc/%0200ld-%d", i,
           static_cast<int>(getpid()));
  struct stat facts;
  return stat(name, &facts) == 0 || errno == ENOENT ? 0 : errno;
}

// ---- sizes beyond measure ----

int Sized(int (*call)(int fd)) {
  signal(SIGXFSZ, SIG_IGN);
  const int fd = open("/tmp/huge", O_CREAT | O_RDWR, 0600);
  return fd < 0 ? errno : call(fd);
}
int Sparse(long) {
  return Sized([](int fd) { return Answer(ftruncate(fd, long{1} << 60)); });
}
int Fallocate(long) {
  return Sized(
      [](int fd) { return Answer(fallocate(fd, 0, 0, long{1} << 60)); });
}
int FallocateAll(long) {
  return Sized([](int fd) {
    return Answer(fallocate(fd, 0, 0, static_cast<long>(60 * kMiB)));
  });
}
int HugeMemfd(long) {
  signal(SIGXFSZ, SIG_IGN);
  return Answer(ftruncate(memfd_create("huge", 0), long{1} << 60));
}
int FarWrite(long) {
  return Sized(
      [](int fd) { return Answer(pwrite(fd, "x", 1, long{1} << 40)); });
}

constexpr NamedBomb kBombs[] = {
    {"pipes", Pipes},
    {"unix-sockets", UnixSockets},
    {"udp-sockets", UdpSockets},
    {"tcp-sockets", TcpSockets},
    {"tcp-backlog", TcpBacklog},
    {"netlink", Netlink},
    {"netlink-sockets", NetlinkSockets},
    {"unix-names", UnixNames},
    {"posix-locks", PosixLocks},
    {"file-locks", FileLocks},
    {"timers", Timers},
    {"signals", Signals},
    {"futex-hash", FutexHash},
    {"landlock", Landlock},
    {"missing-names", MissingNames},
    {"sparse", Sparse},
    {"fallocate", Fallocate},
    {"fallocate-all", FallocateAll},
    {"huge-memfd", HugeMemfd},
    {"far-write", FarWrite},
};

}  // namespace

Once FindKernelBomb(const char* name) {
  for (const NamedBomb& bomb : kBombs) {
    if (strcmp(bomb.name, name) == 0) return bomb.once;
  }
  return nullptr;
}

}  // namespace sandglass::hostile
