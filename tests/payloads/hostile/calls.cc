// Attempts that are one system call.

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/payloads/hostile/arguments.h"
#include "tests/payloads/hostile/attempts.h"

namespace sandglass::hostile {
namespace {

constexpr int kMaxArguments = 6;

// Of a call that made a process, in the new one: it must not go on as a second
// payload.
void EndIfNew(long own_pid) {
  if (syscall(SYS_getpid) != own_pid) {
    for (;;) syscall(SYS_exit_group, 0);
  }
}

long Raw(long number, const unsigned long* arguments) {
  const long own_pid = syscall(SYS_getpid);
  errno = 0;
  const long result = syscall(number, arguments[0], arguments[1], arguments[2],
                              arguments[3], arguments[4], arguments[5]);
  const int error = errno;
  EndIfNew(own_pid);
  errno = error;
  return result;
}

int ErrorOf(long result) { return result == -1 ? errno : 0; }

// Of i386, whose calls return the negative errno in eax. The kernel clears the
// upper halves of nothing, but changes r8 to r11.
int RawI386(long number, long first, long second, long third) {
  long result = 0;
  const long own_pid = syscall(SYS_getpid);
  asm volatile("int $0x80"
               : "=a"(result)
               : "a"(number), "b"(first), "c"(second), "d"(third)
               : "memory", "r8", "r9", "r10", "r11");
  EndIfNew(own_pid);
  const int value = static_cast<int>(result);
  return value < 0 && value > -4096 ? -value : 0;
}

// What a child came to: its exit code, or kSignal.
template <typename Body>
int InChild(Body body) {
  const pid_t child = fork();
  if (child < 0) NoSetUp("fork");
  if (child == 0) {
    alarm(5);
    _exit(body());
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) NoSetUp("waitpid");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -kSignal;
}

}  // namespace

int Call(const Words& words) {
  unsigned long arguments[kMaxArguments] = {};
  for (int i = 0; i < kMaxArguments && i + 1 < words.count; ++i) {
    arguments[i] = Value(words[i + 1]);
  }
  return ErrorOf(Raw(static_cast<long>(Value(words[0])), arguments));
}

int CallI386(const Words& words) {
  long values[4] = {};
  for (int i = 0; i < 4 && i < words.count; ++i) {
    values[i] = static_cast<long>(Value(words[i]));
  }
  return InChild(
      [&] { return RawI386(values[0], values[1], values[2], values[3]); });
}

int Sweep(const Words& words) {
  FILE* list = fopen(words[0], "r");
  if (list == nullptr) NoSetUp(words[0]);
  char door[16] = {};
  long number = 0;
  int expected = 0;
  int lines = 0;
  // NOLINTNEXTLINE(cert-err34-c)
  while (fscanf(list, "%15s %ld %d", door, &number, &expected) == 3) {
    const bool i386 = strcmp(door, "i386") == 0;
    int error = InChild([&] {
      if (i386) return RawI386(number, 0, 0, 0);
      const unsigned long none[kMaxArguments] = {};
      return ErrorOf(Raw(number, none));
    });
    const bool unfiltered = number == 335 || number == 336;
    if (i386 && error == -kSignal) error = ENOSYS;
    if (unfiltered && (error == -kSignal || error == ENXIO)) error = ENOSYS;
    if (error != expected) {
      fprintf(stderr, "hostile: %s %ld gave %d and not %d\n", door, number,
              error, expected);
      return -kUnexpected;
    }
    ++lines;
  }
  fclose(list);
  return lines > 0 ? 0 : -kUsage;
}

const Attempt* FindAttempt(const char* name) {
  static constexpr Attempt kAttempts[] = {
      {"call", Call},         {"i386", CallI386},
      {"sweep", Sweep},       {"open", Open},
      {"read", Read},         {"list", List},
      {"walk", Walk},         {"descriptors", Descriptors},
      {"setuid", SetUid},     {"overwrite", Overwrite},
      {"socket", Socket},     {"rtnetlink", RtNetlink},
      {"connect", Connect},   {"seek-neighbours", SeekNeighbours},
      {"bomb", Bomb},         {"storm", Storm},
      {"covert", Covert},     {"swap", Swap},
      {"headless", Headless},
  };
  for (const Attempt& attempt : kAttempts) {
    if (strcmp(attempt.name, name) == 0) return &attempt;
  }
  return nullptr;
}

}  // namespace sandglass::hostile
