// Attempts to take more of the machine than a jail has. Each bomb does one
// thing again and again until the kernel says no.

#include "tests/payloads/hostile/bombs.h"

#include <errno.h>
#include <fcntl.h>
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
  // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork)
  const pid_t child = vfork();
  if (child < 0) vfork_error = errno;
  if (child == 0) {
    // NOLINTNEXTLINE(clang-analyzer-unix.Vfork)
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
  // NOLINTNEXTLINE(clang-analyzer-unix.Malloc)
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
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
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

constexpr NamedBomb kBombs[] = {
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
};

Once Find(const char* name) {
  for (const NamedBomb& bomb : kBombs) {
    if (strcmp(bomb.name, name) == 0) return bomb.once;
  }
  return FindKernelBomb(name);
}

}  // namespace

const void* Block() {
  static void* block = [] {
    void* memory = malloc(kMiB);
    memset(memory, 'x', kMiB);
    return memory;
  }();
  return block;
}

int Bomb(const Words& words) {
  const long max = strtol(words[1], nullptr, 0);
  const auto hold = static_cast<useconds_t>(strtol(words[2], nullptr, 0));
  const Once once = Find(words[0]);
  if (once == nullptr) return -kUsage;
  int error = 0;
  long i = 0;
  while (error == 0 && (max == 0 || i < max)) error = once(i++);
  fprintf(stderr, "hostile: %s: %ld times, then %s\n", words[0], i,
          // NOLINTNEXTLINE(concurrency-mt-unsafe)
          strerror(error));
  // For whoever looks from outside.
  usleep(hold * 1000);
  return error;
}

}  // namespace sandglass::hostile
