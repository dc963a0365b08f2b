// Attempts to take more of the machine than a jail has. Each bomb does one
// thing again and again until the kernel says no.

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "tests/payloads/hostile/arguments.h"
#include "tests/payloads/hostile/attempts.h"

namespace sandglass::hostile {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// One more; 0 or the errno of the refusal. `i` counts from 0.
using Once = int (*)(long i);

int Answer(long result) { return result < 0 ? errno : 0; }

void Name(char* name, size_t size, const char* base, long i) {
  snprintf(name, size, "%s-%d-%ld", base, static_cast<int>(getpid()), i);
}

// ---- processes ----

int Fork(long) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  return Answer(child);
}

void* Sleep(void*) {
  for (;;) pause();
}

int Thread(long) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 1 << 18);
  return pthread_create(&thread, &attributes, Sleep, nullptr);
}

// A child that borrows its parent's memory makes another one, and so on.
int vfork_error = 0;
void Borrow() {
  const pid_t child = vfork();
  if (child < 0) vfork_error = errno;
  if (child == 0) {
    Borrow();
    _exit(0);
  }
}
int Vfork(long) {
  Borrow();
  return vfork_error;
}

int Argv(long i) {
  // Of so many arguments the kernel keeps a copy while the program starts.
  static char text[4096];
  memset(text, 'x', sizeof(text) - 1);
  const long count = (i + 1) * 64;
  auto** words = static_cast<char**>(calloc(count + 1, sizeof(char*)));
  words[0] = const_cast<char*>("true");
  for (long k = 1; k < count; ++k) words[k] = text;
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) {
    execv("/usr/bin/true", words);
    _exit(errno);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  free(words);
  return WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
}

// ---- descriptors ----

int File(long) { return Answer(open("/dev/null", O_RDONLY)); }
int EventFd(long) { return Answer(eventfd(0, 0)); }
int TimerFd(long) {
  const int fd = timerfd_create(CLOCK_MONOTONIC, 0);
  const itimerspec soon = {{3600, 0}, {3600, 0}};
  return fd < 0 ? errno : Answer(timerfd_settime(fd, 0, &soon, nullptr));
}
int SignalFd(long) {
  sigset_t set;
  sigfillset(&set);
  return Answer(signalfd(-1, &set, 0));
}
int PidFd(long) { return Answer(syscall(SYS_pidfd_open, getpid(), 0)); }

// Each watches the 500 descriptors of the first ones.
int Epoll(long i) {
  const int fd = epoll_create1(0);
  if (fd < 0) return errno;
  static int first = fd;
  for (int watched = first; watched < fd; ++watched) {
    epoll_event event = {};
    event.events = EPOLLIN;
    if (i > 500) break;
    // A circle or a chain that is too long is refused; that is no end.
    (void)epoll_ctl(fd, EPOLL_CTL_ADD, 0, &event);
    (void)epoll_ctl(fd, EPOLL_CTL_ADD, watched, &event);
  }
  return 0;
}

int SendDescriptors(int over, const int* fds, int count) {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(253 * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(count * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(count * sizeof(int));
  memcpy(CMSG_DATA(header), fds, count * sizeof(int));
  return Answer(sendmsg(over, &message, MSG_DONTWAIT));
}

// Files that nobody has open any more but a message.
int InFlight(long) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) != 0) return errno;
  int fds[253];
  for (int& fd : fds) {
    fd = open("/dev/null", O_RDONLY);
    if (fd < 0) return errno;
  }
  const int error = SendDescriptors(ends[0], fds, 253);
  for (const int fd : fds) close(fd);
  return error;
}

// A pair within a pair within a pair…, all closed but the last: the kernel's
// collector of sockets has to find its way.
int Nested(long) {
  static int last[2] = {-1, -1};
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return errno;
  if (last[0] >= 0) {
    const int error = SendDescriptors(ends[0], last, 2);
    if (error != 0) return error;
    close(last[0]);
    close(last[1]);
  }
  // And each holds itself.
  (void)SendDescriptors(ends[1], ends, 2);
  last[0] = ends[0];
  last[1] = ends[1];
  return 0;
}

// ---- memory ----

int Populate(int flags) {
  return mmap(nullptr, 4 * kMiB, PROT_READ | PROT_WRITE,
              MAP_ANONYMOUS | MAP_POPULATE | flags, -1, 0) == MAP_FAILED
             ? errno
             : 0;
}
int Heap(long) { return Populate(MAP_PRIVATE); }
int SharedMap(long) { return Populate(MAP_SHARED); }

int Stack(long depth) {
  volatile char page[4096];
  page[0] = 1;
  // Ends long before.
  return depth < 1'000'000'000 ? Stack(depth + page[0]) + page[0] : 0;
}

int Mlock(long) {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                      MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
  return memory == MAP_FAILED ? errno : Answer(mlock(memory, 4096));
}

const void* Block() {
  static void* block = [] {
    void* memory = malloc(kMiB);
    memset(memory, 'x', kMiB);
    return memory;
  }();
  return block;
}

int Memfd(long) {
  const int fd = memfd_create("bomb", 0);
  return fd < 0 ? errno : Answer(write(fd, Block(), kMiB));
}

int FilesAt(const char* place, long i) {
  char name[64];
  Name(name, sizeof(name), place, i);
  const int fd = open(name, O_WRONLY | O_CREAT, 0600);
  if (fd < 0) return errno;
  const ssize_t size = write(fd, Block(), kMiB);
  const int error = size < 0 ? errno : 0;
  close(fd);
  return error;
}
int TmpFiles(long i) { return FilesAt("/tmp/f", i); }
int ShmFiles(long i) { return FilesAt("/dev/shm/f", i); }
int WorkspaceFiles(long i) { return FilesAt("/workspace/f", i); }

int EmptyFiles(long i) {
  char name[64];
  Name(name, sizeof(name), "/tmp/e", i);
  const int fd = open(name, O_WRONLY | O_CREAT, 0600);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

int DeepDirectories(long i) {
  if (i == 0 && chdir("/tmp") != 0) return errno;
  return mkdir("d", 0700) != 0 || chdir("d") != 0 ? errno : 0;
}

int LinkChain(long i) {
  char name[64];
  char target[64];
  if (i == 0) {
    const int fd = open("/tmp/link-0", O_CREAT | O_RDWR, 0600);
    return fd < 0 ? errno : close(fd);
  }
  snprintf(target, sizeof(target), "/tmp/link-%ld", i - 1);
  snprintf(name, sizeof(name), "/tmp/link-%ld", i);
  if (symlink(target, name) != 0) return errno;
  const int fd = open(name, O_RDONLY);
  return fd < 0 ? errno : close(fd);
}

int Xattrs(long i) {
  static const int fd = open("/tmp/with-attributes", O_CREAT | O_RDWR, 0600);
  char name[64];
  snprintf(name, sizeof(name), "user.bomb-%ld", i);
  return Answer(fsetxattr(fd, name, Block(), 60000, 0));
}

int ShmSegments(long) {
  const int id = shmget(IPC_PRIVATE, kMiB, IPC_CREAT | 0600);
  if (id < 0) return errno;
  void* memory = shmat(id, nullptr, 0);
  if (memory == reinterpret_cast<void*>(-1)) return errno;
  memset(memory, 'x', kMiB);
  return shmdt(memory);
}
int EmptySegments(long) {
  return Answer(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600));
}
int Queues(long) {
  static struct {
    long type = 1;
    char text[8000] = {};
  } message;
  const int id = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
  if (id < 0) return errno;
  for (int i = 0; i < 2; ++i) {
    if (msgsnd(id, &message, sizeof(message.text), IPC_NOWAIT) != 0) {
      return errno;
    }
  }
  return 0;
}
int Semaphores(long) {
  const int id = semget(IPC_PRIVATE, 32000, IPC_CREAT | 0600);
  if (id < 0) return errno;
  sembuf up = {0, 1, SEM_UNDO};
  return Answer(semop(id, &up, 1));
}

// A byte of each 2 MiB: a page of the page tables for each.
int PageTables(long) {
  constexpr size_t kSize = size_t{1} << 36;
  auto* memory = static_cast<volatile char*>(
      mmap(nullptr, kSize, PROT_READ,
           MAP_ANONYMOUS | MAP_PRIVATE | MAP_NORESERVE, -1, 0));
  if (memory == MAP_FAILED) return errno;
  madvise(const_cast<char*>(memory), kSize, MADV_NOHUGEPAGE);
  for (size_t at = 0; at < kSize; at += 2 * kMiB) (void)memory[at];
  return 0;
}

// Neighbours that can't be merged.
int Maps(long i) {
  return mmap(nullptr, 4096, i % 2 == 0 ? PROT_READ : PROT_WRITE,
              MAP_ANONYMOUS | MAP_PRIVATE, -1, 0) == MAP_FAILED
             ? errno
             : 0;
}

// Each with a name of its own.
int NamedMaps(long i) {
  char name[80];
  snprintf(name, sizeof(name), "%070ld", i);
  void* memory = mmap(nullptr, 4096, i % 2 == 0 ? PROT_READ : PROT_WRITE,
                      MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
  if (memory == MAP_FAILED) return errno;
  return Answer(prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, memory, 4096, name));
}

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

constexpr struct {
  const char* name;
  Once once;
} kBombs[] = {
    {"fork", Fork},
    {"thread", Thread},
    {"vfork", Vfork},
    {"argv", Argv},
    {"file", File},
    {"eventfd", EventFd},
    {"timerfd", TimerFd},
    {"signalfd", SignalFd},
    {"pidfd", PidFd},
    {"epoll", Epoll},
    {"in-flight", InFlight},
    {"nested", Nested},
    {"heap", Heap},
    {"shared-map", SharedMap},
    {"stack", Stack},
    {"mlock", Mlock},
    {"memfd", Memfd},
    {"tmp-files", TmpFiles},
    {"shm-files", ShmFiles},
    {"workspace-files", WorkspaceFiles},
    {"empty-files", EmptyFiles},
    {"deep-directories", DeepDirectories},
    {"link-chain", LinkChain},
    {"xattrs", Xattrs},
    {"shm-segments", ShmSegments},
    {"empty-segments", EmptySegments},
    {"queues", Queues},
    {"semaphores", Semaphores},
    {"page-tables", PageTables},
    {"maps", Maps},
    {"named-maps", NamedMaps},
    {"pipes", Pipes},
    {"unix-sockets", UnixSockets},
    {"udp-sockets", UdpSockets},
    {"tcp-sockets", TcpSockets},
    {"netlink", Netlink},
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

int Bomb(const Words& words) {
  const long most = strtol(words[1], nullptr, 0);
  const auto hold = static_cast<useconds_t>(strtol(words[2], nullptr, 0));
  for (const auto& bomb : kBombs) {
    if (strcmp(bomb.name, words[0]) != 0) continue;
    int error = 0;
    long i = 0;
    while (error == 0 && (most == 0 || i < most)) error = bomb.once(i++);
    fprintf(stderr, "hostile: %s: %ld times, then %s\n", words[0], i,
            strerror(error));
    // For whoever looks from outside.
    usleep(hold * 1000);
    return error;
  }
  return -kUsage;
}

}  // namespace sandglass::hostile
