// Names that change what they stand for while somebody else looks them up.

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tests/payloads/hostile/arguments.h"
#include "tests/payloads/hostile/attempts.h"

namespace sandglass::hostile {
namespace {

constexpr int kExchange = 2;  // RENAME_EXCHANGE

void WriteText(const char* path, const char* text) {
  const int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0644);
  if (fd < 0) NoSetUp(path);
  if (write(fd, text, strlen(text)) < 0) NoSetUp(path);
  close(fd);
}

// What takes a name's place; `target` is somewhere outside.
void MakeOther(const char* kind, const char* path, const char* target) {
  unlink(path);
  rmdir(path);
  if (strcmp(kind, "link") == 0 || strcmp(kind, "directory-link") == 0) {
    if (symlink(target, path) != 0) NoSetUp("symlink");
  } else if (strcmp(kind, "loop") == 0) {
    if (symlink(path, path) != 0) NoSetUp("symlink");
  } else if (strcmp(kind, "fifo") == 0) {
    if (mkfifo(path, 0666) != 0) NoSetUp("fifo");
  } else if (strcmp(kind, "directory") == 0) {
    if (mkdir(path, 0755) != 0) NoSetUp("mkdir");
  } else if (strcmp(kind, "socket") == 0) {
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    strncpy(name.sun_path, path, sizeof(name.sun_path) - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(fd, reinterpret_cast<sockaddr*>(&name), sizeof(name)) != 0) {
      NoSetUp("socket");
    }
    close(fd);
  } else if (strcmp(kind, "closed") == 0) {
    WriteText(path, "from the jail");
    chmod(path, 0);
  } else if (strcmp(kind, "memfd") == 0) {
    const int fd = memfd_create("swap", 0);
    char link[64];
    (void)!write(fd, "from the jail", 13);
    snprintf(link, sizeof(link), "/proc/%d/fd/%d", static_cast<int>(getpid()),
             fd);
    if (symlink(link, path) != 0) NoSetUp("symlink");
  } else {
    WriteText(path, "from the jail, too");
  }
}

// One change of the name `victim`.
void Change(const char* kind, const char* other, long i) {
  if (strcmp(kind, "size") == 0) {
    (void)!truncate("victim", i % 2 == 0 ? 13 : (long{1} << 24));
  } else if (strcmp(kind, "unnamed") == 0) {
    const int fd = open(".", O_TMPFILE | O_RDWR, 0644);
    if (fd < 0) NoSetUp("O_TMPFILE");
    (void)!write(fd, "from the jail", 13);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    unlink("victim");
    (void)!linkat(AT_FDCWD, path, AT_FDCWD, "victim", AT_SYMLINK_FOLLOW);
    close(fd);
  } else if (strcmp(kind, "hard-link") == 0) {
    unlink("victim");
    (void)!link(i % 2 == 0 ? "keep" : other, "victim");
  } else if (strcmp(kind, "directory-link") == 0) {
    syscall(SYS_renameat2, AT_FDCWD, "place", AT_FDCWD, other, kExchange);
  } else {
    syscall(SYS_renameat2, AT_FDCWD, "victim", AT_FDCWD, other, kExchange);
  }
}

}  // namespace

int Swap(const Words& words) {
  const char* kind = words[0];
  const char* target = words[1];
  const char* other = "other";
  if (chdir("/workspace") != 0) NoSetUp("/workspace");
  WriteText("victim", "from the jail");
  WriteText("keep", "from the jail");
  if (mkdir("place", 0755) != 0) NoSetUp("mkdir");
  WriteText("place/file", "from the jail");
  MakeOther(kind, other, target);
  // In the background, and in a session of their own, in the hope that they
  // outlive the main process.
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child < 0) NoSetUp("fork");
    if (child > 0) continue;
    setsid();
    for (int number = 1; number < 65; ++number) signal(number, SIG_IGN);
    for (long k = 0;; ++k) Change(kind, other, k);
  }
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  // Ends in the middle of some change.
  usleep(static_cast<useconds_t>(2000 + now.tv_nsec / 1000 % 5000));
  return 0;
}

}  // namespace sandglass::hostile
