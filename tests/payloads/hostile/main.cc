// A static program that does inside a jail what a hostile program would. How it
// ends tells what the kernel answered (see kWentThrough); nothing that it
// prints counts.
//
// usage: hostile [--depth N] [--thread] [--times N | --at-once N] ATTEMPT WORD…
//
// With "all FILE" for an attempt: those that the file lists, one a line, its
// words parted by tabs, after the exit code it is to end with, or two with a
// slash between. kUnexpected at the first that ends with another.
//
//   --depth N    from the child of the child… N generations down
//   --thread     from a second thread
//   --times N    again and again; all answers must be the same
//   --at-once N  from N processes at the same moment; likewise

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/payloads/hostile/arguments.h"
#include "tests/payloads/hostile/attempts.h"

namespace sandglass::hostile {
namespace {

struct Plan {
  int depth = 0;
  int times = 1;
  int at_once = 0;
  bool thread = false;
  const Attempt* attempt = nullptr;
  Words words;
};

int ExitOf(const Plan& plan) {
  const int error = plan.attempt->run(plan.words);
  return error < 0 ? -error : kWentThrough + error;
}

// The code with which a child ended.
int Await(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return kNoSetUp;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kSignal;
}

int InThread(const Plan& plan) {
  pthread_t thread;
  const auto body = [](void* argument) -> void* {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return reinterpret_cast<void*>(
        static_cast<long>(ExitOf(*static_cast<const Plan*>(argument))));
  };
  if (pthread_create(&thread, nullptr, body, const_cast<Plan*>(&plan)) != 0) {
    return kNoSetUp;
  }
  void* code = nullptr;
  pthread_join(thread, &code);
  return static_cast<int>(reinterpret_cast<long>(code));
}

int Repeat(const Plan& plan) {
  int first = -1;
  for (int i = 0; i < plan.times; ++i) {
    const int code = plan.thread ? InThread(plan) : ExitOf(plan);
    if (i == 0) first = code;
    if (code != first) return kVaries;
  }
  return first;
}

// All wait for the end of one pipe, which comes to all at once.
int AtOnce(const Plan& plan) {
  int gate[2];
  if (pipe(gate) != 0) return kNoSetUp;
  auto* children = new pid_t[static_cast<size_t>(plan.at_once)];
  for (int i = 0; i < plan.at_once; ++i) {
    children[i] = fork();
    if (children[i] < 0) return kNoSetUp;
    if (children[i] == 0) {
      close(gate[1]);
      char byte = 0;
      if (read(gate[0], &byte, 1) != 0) _exit(kNoSetUp);
      _exit(Repeat(plan));
    }
  }
  close(gate[1]);
  int first = -1;
  bool varies = false;
  for (int i = 0; i < plan.at_once; ++i) {
    const int code = Await(children[i]);
    if (i == 0) first = code;
    varies = varies || code != first;
  }
  delete[] children;
  return varies ? kVaries : first;
}

int Descend(const Plan& plan, int depth) {
  if (depth == 0) return plan.at_once > 0 ? AtOnce(plan) : Repeat(plan);
  const pid_t child = fork();
  if (child < 0) return kNoSetUp;
  if (child == 0) _exit(Descend(plan, depth - 1));
  return Await(child);
}

// In a child of its own.
int RunOne(const Plan& plan) {
  const pid_t child = fork();
  if (child < 0) return kNoSetUp;
  if (child == 0) _exit(Descend(plan, plan.depth));
  return Await(child);
}

// What strsep(3) can cut; nothing of it stays open.
char* ReadWhole(const char* path) {
  static char text[1 << 20];
  const int file = open(path, O_RDONLY);
  if (file < 0) NoSetUp(path);
  size_t size = 0;
  for (ssize_t more = 1; more > 0; size += static_cast<size_t>(more)) {
    more = read(file, text + size, sizeof(text) - 1 - size);
    if (more < 0) NoSetUp(path);
  }
  close(file);
  return text;
}

int RunAll(Plan plan, const char* path) {
  char* lines = ReadWhole(path);
  int number = 0;
  for (char* line = strsep(&lines, "\n"); line != nullptr && *line != '\0';
       line = strsep(&lines, "\n")) {
    char* words[16] = {};
    int count = 0;
    while (line != nullptr && count < 16) words[count++] = strsep(&line, "\t");
    plan.attempt = count < 2 ? nullptr : FindAttempt(words[1]);
    if (plan.attempt == nullptr) return kUsage;
    plan.words = {words + 2, count - 2};
    char* other = nullptr;
    const long expected = strtol(words[0], &other, 10);
    const long or_this = *other == '/' ? strtol(other + 1, nullptr, 10) : -1;
    const int code = RunOne(plan);
    ++number;
    if (code != expected && code != or_this) {
      fprintf(stderr, "hostile: attempt %d, \"%s %s %s\", ended with %d\n",
              number, words[1], plan.words[0], plan.words[1], code);
      return kUnexpected;
    }
  }
  return number > 0 ? kWentThrough : kUsage;
}

int Main(int count, char** arguments) {
  Plan plan;
  int at = 1;
  // NOLINTNEXTLINE(cert-err34-c)
  const auto number = [&] { return ++at < count ? atoi(arguments[at]) : 0; };
  for (; at < count && strncmp(arguments[at], "--", 2) == 0; ++at) {
    const char* option = arguments[at];
    if (strcmp(option, "--depth") == 0) {
      plan.depth = number();
    } else if (strcmp(option, "--times") == 0) {
      plan.times = number();
    } else if (strcmp(option, "--at-once") == 0) {
      plan.at_once = number();
    } else if (strcmp(option, "--thread") == 0) {
      plan.thread = true;
    } else {
      return kUsage;
    }
  }
  if (at >= count) return kUsage;
  if (strcmp(arguments[at], "all") == 0) {
    return at + 1 < count ? RunAll(plan, arguments[at + 1]) : kUsage;
  }
  plan.attempt = FindAttempt(arguments[at]);
  if (plan.attempt == nullptr) {
    fprintf(stderr, "hostile: no attempt \"%s\"\n", arguments[at]);
    return kUsage;
  }
  plan.words = {arguments + at + 1, count - at - 1};
  return Descend(plan, plan.depth);
}

}  // namespace
}  // namespace sandglass::hostile

int main(int count, char** arguments) {
  // Without the C library's end: a clone that shares memory may come here too.
  _exit(sandglass::hostile::Main(count, arguments));
}
