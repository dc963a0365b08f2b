// A static program that does inside a jail what a hostile program would. How it
// ends tells what the kernel answered (see kWentThrough); nothing that it
// prints counts.
//
// usage: hostile [--depth N] [--thread] [--times N | --at-once N] ATTEMPT WORD…
//
//   --depth N    from the child of the child… N generations down
//   --thread     from a second thread
//   --times N    again and again; all answers must be the same
//   --at-once N  from N processes at the same moment; likewise

#include <errno.h>
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

int Main(int count, char** arguments) {
  Plan plan;
  int at = 1;
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
