// What one program can change and another one see.

#include "tests/payloads/hostile/covert_channels.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/payloads/hostile/arguments.h"

namespace sandglass::hostile {
namespace {

constexpr char kImageFile[] = "/usr/share/common-licenses/GPL-3";
constexpr char kProgram[] = "/usr/bin/env";
constexpr char kMeeting[] = "sandglass-meeting";
constexpr int kMeetingKey = 0x51515151;
constexpr uint16_t kMeetingPort = 15151;

// ---- means ----

int Opened(const char* path, int flags = O_RDONLY) {
  const int fd = open(path, flags | O_CLOEXEC, 0666);
  if (fd < 0) NoSetUp(path);
  return fd;
}

int Fcntl(int fd, int command, short type, struct flock& lock) {
  lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return fcntl(fd, command, &lock);
}

// The `index`th number in the file, of those in the line that begins so.
double NumberIn(const char* path, const char* line, int index) {
  static char text[1 << 16];
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return 0;
  size_t size = 0;
  for (ssize_t got = 0;
       (got = read(fd, text + size, sizeof(text) - 1 - size)) > 0;) {
    size += static_cast<size_t>(got);
  }
  close(fd);
  text[size] = '\0';
  const char* at = text;
  if (*line != '\0') {
    at = strstr(text, line);
    if (at == nullptr) return 0;
    at += strlen(line);
  }
  double value = 0;
  for (int i = 0; i <= index; ++i) {
    while (*at != '\0' && strchr("0123456789", *at) == nullptr) ++at;
    char* end = nullptr;
    value = strtod(at, &end);
    at = end;
  }
  return value;
}

// Holds so many of something, or none.
void Hold(bool on, int (*make)(), int count) {
  static int fds[1000];
  static int held = 0;
  while (on && held < count) {
    const int fd = make();
    if (fd < 0) break;
    fds[held++] = fd;
  }
  while (!on && held > 0) close(fds[--held]);
}

void HoldChildren(bool on, int count) {
  static pid_t children[100];
  static int held = 0;
  while (on && held < count) {
    const pid_t child = fork();
    if (child == 0) {
      for (;;) pause();
    }
    if (child < 0) break;
    children[held++] = child;
  }
  while (!on && held > 0) {
    kill(children[--held], SIGKILL);
    waitpid(children[held], nullptr, 0);
  }
}

// ---- channels ----

// flock, of what path() says
template <const char* path, int flags>
void FlockSend(bool on) {
  static const int fd = Opened(path, flags);
  flock(fd, on ? LOCK_EX : LOCK_UN);
}
template <const char* path, int flags>
double FlockLook() {
  static const int fd = Opened(path, flags);
  const int error = Answer(flock(fd, LOCK_EX | LOCK_NB));
  if (error != 0) return error == EWOULDBLOCK ? 1 : 0;
  flock(fd, LOCK_UN);
  return 0;
}
constexpr char kDirectory[] = "/usr";
constexpr char kDevice[] = "/dev/null";
constexpr char kOwnFile[] = "/tmp/meeting";
constexpr char kProcFile[] = "/proc/version";
constexpr char kEtcFile[] = "/etc/passwd";

// For writing none of them can be opened; the question needs no such right.
template <int set, int get>
void RangeSend(bool on) {
  static const int fd = Opened(kImageFile);
  struct flock lock;
  Fcntl(fd, set, on ? F_RDLCK : F_UNLCK, lock);
}
template <int set, int get>
double RangeLook() {
  static const int fd = Opened(kImageFile);
  struct flock lock;
  return Fcntl(fd, get, F_WRLCK, lock) == 0 && lock.l_type != F_UNLCK ? 1 : 0;
}

void LeaseSend(bool on) {
  static const int fd = Opened(kImageFile);
  fcntl(fd, F_SETLEASE, on ? F_RDLCK : F_UNLCK);
}
double LeaseLook() {
  static const int fd = Opened(kImageFile);
  return fcntl(fd, F_GETLEASE) == F_RDLCK || errno == EWOULDBLOCK ? 1 : 0;
}

int* SharedWord() {
  static void* page =
      mmap(nullptr, 4096, PROT_READ, MAP_SHARED, Opened(kImageFile), 0);
  return static_cast<int*>(page);
}
void FutexSend(bool on) {
  if (on) {
    syscall(SYS_futex, SharedWord(), FUTEX_WAKE, 100, nullptr, nullptr, 0);
  }
}
double FutexLook() {
  const timespec patience = {0, 25'000'000};
  return syscall(SYS_futex, SharedWord(), FUTEX_WAIT, *SharedWord(), &patience,
                 nullptr, 0) == 0
             ? 1
             : 0;
}

void ReadSend(bool on) {
  char byte = 0;
  const int fd = Opened(kImageFile);
  if (on) (void)!pread(fd, &byte, 1, 0);
  close(fd);
}
double AccessTimeLook() {
  struct stat facts;
  if (stat(kImageFile, &facts) != 0) return 0;
  return static_cast<double>(facts.st_atim.tv_nsec);
}

void TimeSend(bool on) {
  const timespec times[2] = {{on ? 1000 : 2000, 0}, {on ? 1000 : 2000, 0}};
  utimensat(AT_FDCWD, kDevice, times, 0);
}
double TimeLook() {
  struct stat facts;
  return stat(kDevice, &facts) == 0 ? static_cast<double>(facts.st_mtime) : 0;
}

// Whoever runs a file or has it open for writing keeps the other from it.
void BusySend(bool on) {
  static int fd = -1;
  if (on && fd < 0) fd = open(kProgram, O_RDWR);
  if (!on && fd >= 0) fd = close(fd);
}
double BusyLook() {
  // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork)
  const pid_t child = vfork();
  if (child == 0) {
    // NOLINTNEXTLINE(clang-analyzer-unix.Vfork)
    char* const words[] = {const_cast<char*>("env"), nullptr};
    close(1);
    execve(kProgram, words, words + 1);
    _exit(errno);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

void NameSend(bool on) {
  if (on) close(Opened(kOwnFile, O_CREAT | O_RDWR));
  if (!on) unlink(kOwnFile);
}
double NameLook() { return access(kOwnFile, F_OK) == 0 ? 1 : 0; }

int BoundUnix() {
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.strcpy)
  strcpy(name.sun_path + 1, kMeeting);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (bind(fd, reinterpret_cast<sockaddr*>(&name),
           offsetof(sockaddr_un, sun_path) + sizeof(kMeeting)) == 0) {
    return fd;
  }
  close(fd);
  return -1;
}
int BoundTcp() {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(kMeetingPort);
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0) {
    return fd;
  }
  close(fd);
  return -1;
}
template <int (*make)()>
void PlaceSend(bool on) {
  Hold(on, make, 1);
}
template <int (*make)()>
double PlaceLook() {
  const int fd = make();
  if (fd < 0) return 1;
  close(fd);
  return 0;
}

void SegmentSend(bool on) {
  static int id = -1;
  if (on && id < 0) id = shmget(kMeetingKey, 1, IPC_CREAT | 0666);
  if (!on && id >= 0) {
    shmctl(id, IPC_RMID, nullptr);
    id = -1;
  }
}
double SegmentLook() { return shmget(kMeetingKey, 1, 0) >= 0 ? 1 : 0; }
double SegmentsLook() {
  struct shm_info info = {};
  shmctl(0, SHM_INFO, reinterpret_cast<struct shmid_ds*>(&info));
  return info.used_ids;
}

// ---- a user's limits ----

void SignalsSend(bool on) {
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, SIGRTMIN);
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  sigprocmask(SIG_BLOCK, &one, nullptr);
  const timespec none = {};
  if (on) {
    while (sigqueue(getpid(), SIGRTMIN, sigval{}) == 0) continue;
  } else {
    while (sigtimedwait(&one, nullptr, &none) > 0) continue;
  }
}
double SignalsLook() {
  SignalsSend(false);
  int queued = 0;
  while (sigqueue(getpid(), SIGRTMIN, sigval{}) == 0) ++queued;
  SignalsSend(false);
  return queued;
}

int BigPipe() {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  close(ends[0]);
  if (fcntl(ends[1], F_SETPIPE_SZ, 1 << 20) < 0) {
    close(ends[1]);
    return -1;
  }
  return ends[1];
}
void PipesSend(bool on) { Hold(on, BigPipe, 500); }
double PipesLook() {
  const int fd = BigPipe();
  if (fd < 0) return 1;
  close(fd);
  return 0;
}

void LockedSend(bool on) {
  static void* memory =
      mmap(nullptr, 1 << 16, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
  if (on) mlock(memory, 1 << 16);
  if (!on) munlock(memory, 1 << 16);
}
double LockedLook() {
  static void* memory =
      mmap(nullptr, 4096, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
  if (mlock(memory, 4096) != 0) return 1;
  munlock(memory, 4096);
  return 0;
}

void ProcessesSend(bool on) { HoldChildren(on, 60); }
double ProcessesLook() {
  pid_t children[10];
  int made = 0;
  for (; made < 10; ++made) {
    children[made] = fork();
    if (children[made] == 0) _exit(0);
    if (children[made] < 0) break;
  }
  for (int i = 0; i < made; ++i) waitpid(children[i], nullptr, 0);
  return made;
}

// ---- what the kernel counts ----

void FilesSend(bool on) {
  Hold(
      on, [] { return open(kDevice, O_RDONLY); }, 900);
}
double FilesLook() { return NumberIn("/proc/sys/fs/file-nr", "", 0); }
void PocketSend(bool on) {
  Hold(
      on, [] { return eventfd(0, 0); }, 900);
}
double InodesLook() { return NumberIn("/proc/sys/fs/inode-nr", "", 0); }
void ManyFilesSend(bool on) {
  for (int i = 0; i < 2000; ++i) {
    char name[64];
    snprintf(name, sizeof(name), "/tmp/meeting-%d", i);
    if (on) close(Opened(name, O_CREAT | O_RDWR));
    if (!on) unlink(name);
  }
}
double EventFdLook() {
  const int fd = eventfd(0, 0);
  char path[64];
  snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
  const double id = NumberIn(path, "eventfd-id:", 0);
  close(fd);
  return id;
}
double ThreadsLook() {
  struct sysinfo info = {};
  return sysinfo(&info) == 0 ? info.procs : 0;
}
double LoadLook() { return NumberIn("/proc/loadavg", "/", 0); }
void ForkSend(bool on) {
  if (!on) return;
  // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork)
  const pid_t child = vfork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
}
double ForksLook() { return NumberIn("/proc/stat", "processes", 0); }
void YieldSend(bool on) {
  const timespec min = {0, 1};
  if (on) nanosleep(&min, nullptr);
}
double SwitchesLook() { return NumberIn("/proc/stat", "ctxt", 0); }
void MemorySend(bool on) {
  static void* memory = nullptr;
  constexpr size_t kSize = size_t{150} << 20;
  if (on && memory == nullptr) {
    memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                  MAP_ANONYMOUS | MAP_PRIVATE | MAP_POPULATE, -1, 0);
  }
  if (!on && memory != nullptr) {
    munmap(memory, kSize);
    memory = nullptr;
  }
}
double MemoryLook() { return NumberIn("/proc/meminfo", "MemFree:", 0); }
int TcpSocket() { return socket(AF_INET, SOCK_STREAM, 0); }
void SocketsSend(bool on) { Hold(on, TcpSocket, 900); }
double SocketsLook() { return NumberIn("/proc/net/sockstat", "alloc", 0); }
double UsedSocketsLook() { return NumberIn("/proc/net/sockstat", "used", 0); }
void PipeSend(bool on) {
  int ends[2];
  for (int i = 0; on && i < 100; ++i) {
    if (pipe(ends) != 0) return;
    close(ends[0]);
    close(ends[1]);
  }
}
double PipeNumberLook() {
  double largest = 0;
  for (int i = 0; i < 3000; ++i) {
    int ends[2];
    struct stat facts;
    if (pipe(ends) != 0) return 0;
    fstat(ends[0], &facts);
    close(ends[0]);
    close(ends[1]);
    if (static_cast<double>(facts.st_ino) > largest) {
      largest = static_cast<double>(facts.st_ino);
    }
  }
  return largest;
}
double GroupsLook() { return NumberIn("/proc/cgroups", "pids", 1); }
double LocksLook() {
  int lines = 0;
  FILE* file = fopen("/proc/locks", "r");
  if (file == nullptr) return 0;
  for (int c = 0; (c = fgetc(file)) != EOF;) lines += c == '\n' ? 1 : 0;
  fclose(file);
  return lines;
}
void SpinSend(bool on) {
  if (on) {
    for (int i = 0; i < 100000; ++i) asm volatile("");
  }
}
double UserTimeLook() { return NumberIn("/proc/stat", "cpu ", 0); }

constexpr Channel kChannels[] = {
    {"flock-file", FlockSend<kImageFile, O_RDONLY>,
     FlockLook<kImageFile, O_RDONLY>},
    {"flock-directory", FlockSend<kDirectory, O_RDONLY | O_DIRECTORY>,
     FlockLook<kDirectory, O_RDONLY | O_DIRECTORY>},
    {"flock-device", FlockSend<kDevice, O_RDWR>, FlockLook<kDevice, O_RDWR>},
    {"flock-etc", FlockSend<kEtcFile, O_RDONLY>, FlockLook<kEtcFile, O_RDONLY>},
    {"flock-own", FlockSend<kOwnFile, O_RDWR | O_CREAT>,
     FlockLook<kOwnFile, O_RDWR | O_CREAT>},
    {"flock-proc", FlockSend<kProcFile, O_RDONLY>,
     FlockLook<kProcFile, O_RDONLY>},
    {"posix-lock", RangeSend<F_SETLK, F_GETLK>, RangeLook<F_SETLK, F_GETLK>},
    {"ofd-lock", RangeSend<F_OFD_SETLK, F_OFD_GETLK>,
     RangeLook<F_OFD_SETLK, F_OFD_GETLK>},
    {"lease", LeaseSend, LeaseLook},
    {"futex", FutexSend, FutexLook, 1, false, true},
    {"access-time", ReadSend, AccessTimeLook, 1, true},
    {"set-time", TimeSend, TimeLook},
    {"busy-text", BusySend, BusyLook},
    {"name", NameSend, NameLook},
    {"abstract", PlaceSend<BoundUnix>, PlaceLook<BoundUnix>},
    {"port", PlaceSend<BoundTcp>, PlaceLook<BoundTcp>},
    {"segment", SegmentSend, SegmentLook},
    {"segments", SegmentSend, SegmentsLook},
    {"signals", SignalsSend, SignalsLook, 100},
    {"pipes", PipesSend, PipesLook},
    {"locked-memory", LockedSend, LockedLook},
    {"processes", ProcessesSend, ProcessesLook},
    {"open-files", FilesSend, FilesLook, 400},
    {"inodes", ManyFilesSend, InodesLook, 1000},
    {"eventfd-id", PocketSend, EventFdLook, 400},
    {"threads", ProcessesSend, ThreadsLook, 30},
    {"load", ProcessesSend, LoadLook, 30},
    {"forks", ForkSend, ForksLook, 100, true},
    {"switches", YieldSend, SwitchesLook, 200, true},
    {"free-memory", MemorySend, MemoryLook, 70'000},
    {"sockets", SocketsSend, SocketsLook, 400},
    {"used-sockets", SocketsSend, UsedSocketsLook, 400},
    {"pipe-number", PipeSend, PipeNumberLook, 2000, true},
    {"groups", ProcessesSend, GroupsLook, 1},
    {"locks", FlockSend<kImageFile, O_RDONLY>, LocksLook},
    {"user-time", SpinSend, UserTimeLook, 3, true},
};

}  // namespace

const Channel* FindChannel(const char* name) {
  for (const Channel& channel : kChannels) {
    if (strcmp(channel.name, name) == 0) return &channel;
  }
  return nullptr;
}

}  // namespace sandglass::hostile
