#include "bench/calls.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <limits>

namespace sandglass::bench {
namespace {

constexpr int kBatches = 12;

int64_t Nanos() {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// False when a call fails.
template <typename Call>
bool Measure(const char* name, int calls, const Call& call) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (int batch = 0; batch < kBatches; ++batch) {
    const int64_t start = Nanos();
    for (int i = 0; i < calls; ++i) {
      if (!call()) {
        std::perror(name);
        return false;
      }
    }
    best = std::min(best, Nanos() - start);
  }
  std::printf("%s %.1f\n", name, static_cast<double>(best) / calls);
  return true;
}

bool Closed(int fd) { return fd >= 0 && ::close(fd) == 0; }

}  // namespace

bool PrintCalls(const char* file) {
  const int zero = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  int ends[2];
  if (zero < 0 || null < 0 || ::pipe2(ends, O_CLOEXEC) != 0) return false;
  char byte = 0;
  struct stat info = {};
  return Measure("getppid", 20000,
                 [] { return ::syscall(SYS_getppid) >= 0; }) &&
         Measure("read", 20000, [&] { return ::read(zero, &byte, 1) == 1; }) &&
         Measure("write", 20000,
                 [&] { return ::write(null, &byte, 1) == 1; }) &&
         Measure("fstat", 20000, [&] { return ::fstat(zero, &info) == 0; }) &&
         Measure("fcntl", 20000, [&] { return ::fcntl(zero, F_GETFL) >= 0; }) &&
         Measure("pipe-write-read", 10000,
                 [&] {
                   return ::write(ends[1], &byte, 1) == 1 &&
                          ::read(ends[0], &byte, 1) == 1;
                 }) &&
         Measure("mmap-munmap", 5000,
                 [] {
                   void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                   return page != MAP_FAILED && ::munmap(page, 4096) == 0;
                 }) &&
         Measure("stat", 5000, [&] { return ::stat(file, &info) == 0; }) &&
         Measure(
             "openat-close", 5000,
             [file] {
               return Closed(::openat(AT_FDCWD, file, O_RDONLY | O_CLOEXEC));
             }) &&
         Measure("socket-close", 2000, [] {
           return Closed(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
         });
}

}  // namespace sandglass::bench
