// Attempts to keep the machine busier than the jail's share: each storm does
// one thing as often as it can, from several threads at once, until somebody
// stops it.

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/payloads/hostile/arguments.h"
#include "tests/payloads/hostile/attempts.h"

namespace sandglass::hostile {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMiB = size_t{1} << 20;

void Busy() {
  for (int i = 0; i < 1000000; ++i) asm volatile("");
}
void Yield() { sched_yield(); }
void Random() {
  static thread_local char bytes[1 << 16];
  (void)!getrandom(bytes, sizeof(bytes), 0);
}
void Ignore(int) {}
void IntervalTimer() {
  signal(SIGALRM, Ignore);
  const itimerval often = {{0, 1}, {0, 1}};
  setitimer(ITIMER_REAL, &often, nullptr);
  for (;;) pause();
}
void ManyTimers() {
  signal(SIGRTMIN, Ignore);
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGRTMIN;
  const itimerspec often = {{0, 1000}, {0, 1000}};
  for (;;) {
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) break;
    timer_settime(timer, 0, &often, nullptr);
  }
  for (;;) pause();
}
void Nap() {
  const timespec min = {0, 1};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &min, nullptr);
}
void Barrier() {
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0);
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
          0, 0);
  syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
  syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0);
}
void SlowBarrier() { syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0); }
// The other threads' processors have to forget what they know of the page.
void Protect() {
  static thread_local auto* page =
      static_cast<volatile char*>(mmap(nullptr, kPage, PROT_READ | PROT_WRITE,
                                       MAP_ANONYMOUS | MAP_PRIVATE, -1, 0));
  auto* address = const_cast<char*>(page);
  mprotect(address, kPage, PROT_READ);
  mprotect(address, kPage, PROT_READ | PROT_WRITE);
  page[0] = 1;
}
void Fault() {
  char* memory = static_cast<char*>(mmap(nullptr, kMiB, PROT_READ | PROT_WRITE,
                                         MAP_ANONYMOUS | MAP_PRIVATE, -1, 0));
  if (memory == MAP_FAILED) return;
  for (size_t at = 0; at < kMiB; at += kPage) memory[at] = 1;
  munmap(memory, kMiB);
}
void Wake() {
  static int word = 0;
  syscall(SYS_futex, &word, FUTEX_WAKE, 1000, nullptr, nullptr, 0);
  const timespec min = {0, 1000};
  syscall(SYS_futex, &word, FUTEX_WAIT, 0, &min, nullptr, 0);
}
void Process(bool program) {
  // NOLINTNEXTLINE(clang-analyzer-security.insecureAPI.vfork)
  const pid_t child = vfork();
  if (child == 0) {
    // NOLINTNEXTLINE(clang-analyzer-unix.Vfork)
    char* const none[] = {const_cast<char*>("true"), nullptr};
    if (program) execve("/usr/bin/true", none, none + 1);
    _exit(0);
  }
  if (child > 0) waitpid(child, nullptr, 0);
}
void Fork() { Process(false); }
void Exec() { Process(true); }
void Threads() {
  pthread_t thread;
  if (pthread_create(
          &thread, nullptr, [](void*) -> void* { return nullptr; }, nullptr) ==
      0) {
    pthread_join(thread, nullptr);
  }
}
// Pairs that hold each other: only the kernel's collector frees them, which
// works for nobody's account.
void Garbage() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
  (void)SendDescriptors(ends[0], ends, 2);
  close(ends[0]);
  close(ends[1]);
}
void Files() {
  char name[64];
  snprintf(name, sizeof(name), "/tmp/storm-%ld", syscall(SYS_gettid));
  const int fd = open(name, O_CREAT | O_RDWR, 0600);
  (void)!write(fd, "x", 1);
  close(fd);
  unlink(name);
}
void ReadWhole(const char* path) {
  static thread_local char bytes[1 << 16];
  const int fd = open(path, O_RDONLY);
  if (fd < 0) return;
  while (read(fd, bytes, sizeof(bytes)) > 0) continue;
  close(fd);
}
void ReadProc() {
  ReadWhole("/proc/stat");
  ReadWhole("/proc/cpuinfo");
  ReadWhole("/proc/meminfo");
  ReadWhole("/proc/self/smaps");
}
void Priorities() {
  sched_param none = {};
  sched_setscheduler(0, SCHED_BATCH, &none);
  sched_setscheduler(0, SCHED_OTHER, &none);
  for (int i = 0; i < 2; ++i) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(i, &one);
    sched_setaffinity(0, sizeof(one), &one);
  }
}
void SharedSegments() {
  const long id = syscall(SYS_shmget, 0, kMiB, 01600);
  syscall(SYS_shmctl, id, 0, nullptr);
}
void ChangeIds() {
  syscall(SYS_setresuid, -1, -1, -1);
  syscall(SYS_setsid);
}

constexpr struct {
  const char* name;
  void (*once)();
} kStorms[] = {
    {"busy", Busy},
    {"yield", Yield},
    {"random", Random},
    {"interval-timer", IntervalTimer},
    {"many-timers", ManyTimers},
    {"nap", Nap},
    {"barrier", Barrier},
    {"slow-barrier", SlowBarrier},
    {"protect", Protect},
    {"fault", Fault},
    {"wake", Wake},
    {"fork", Fork},
    {"exec", Exec},
    {"threads", Threads},
    {"garbage", Garbage},
    {"files", Files},
    {"read-proc", ReadProc},
    {"priorities", Priorities},
    {"shared-segments", SharedSegments},
    {"change-ids", ChangeIds},
};

}  // namespace

int Storm(const Words& words) {
  for (const auto& storm : kStorms) {
    if (strcmp(storm.name, words[0]) != 0) continue;
    static void (*once)() = storm.once;
    // NOLINTNEXTLINE(cert-err34-c)
    const int threads = atoi(words[1]);
    for (int i = 1; i < threads; ++i) {
      pthread_t thread;
      if (pthread_create(
              &thread, nullptr,
              [](void*) -> void* {
                for (;;) once();
              },
              nullptr) != 0) {
        return errno;
      }
    }
    for (;;) once();
  }
  return -kUsage;
}

}  // namespace sandglass::hostile
