// Processes whose main thread has ended while another goes on. The kernel shows
// them as zombies, and a control group's kill may pass them over.

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/payloads/hostile/arguments.h"
#include "tests/payloads/hostile/attempts.h"

namespace sandglass::hostile {
namespace {

using Body = void (*)();

void LoseHead(Body body);

void Sleep() {
  for (;;) pause();
}
void Spin() {
  for (;;) asm volatile("");
}
void Write() {
  static char text[4096];
  memset(text, 'x', sizeof(text));
  for (;;) (void)!write(1, text, sizeof(text));
}
// As many as the jail may have, each without its main thread and starting more.
void Spawn() {
  for (;;) {
    const pid_t child = fork();
    if (child == 0) LoseHead(Spawn);
    if (child < 0) usleep(1000);
  }
}

void* Run(void* body) {
  (*static_cast<Body*>(body))();
  return nullptr;
}

// Ends this thread, not its process, which `body` goes on in.
void LoseHead(Body body) {
  static Body kept;
  kept = body;
  pthread_t thread;
  if (pthread_create(&thread, nullptr, Run, &kept) != 0) _exit(1);
  for (;;) syscall(SYS_exit, 0);
}

// True once a process's main thread has ended.
bool IsHeadless(pid_t pid) {
  char path[64];
  char text[256] = {};
  snprintf(path, sizeof(path), "/proc/%d/stat", static_cast<int>(pid));
  FILE* stat = fopen(path, "r");
  if (stat == nullptr) return false;
  (void)!fread(text, 1, sizeof(text) - 1, stat);
  fclose(stat);
  const char* end = strrchr(text, ')');
  return end != nullptr && end[1] == ' ' && end[2] == 'Z';
}

// Leaves a child behind.
int Leave() {
  const pid_t child = fork();
  if (child < 0) return errno;
  if (child == 0) {
    setsid();
    LoseHead(Sleep);
  }
  while (!IsHeadless(child)) usleep(1000);
  return 0;
}

}  // namespace

int Headless(const Words& words) {
  constexpr struct {
    const char* name;
    Body body;
  } kBodies[] = {
      {"sleep", Sleep}, {"spin", Spin}, {"write", Write}, {"spawn", Spawn}};
  if (strcmp(words[0], "leave") == 0) return Leave();
  for (const auto& each : kBodies) {
    if (strcmp(each.name, words[0]) != 0) continue;
    fprintf(stderr, "headless\n");
    LoseHead(each.body);
  }
  return -kUsage;
}

}  // namespace sandglass::hostile
