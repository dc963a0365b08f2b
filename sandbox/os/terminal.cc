#include "sandbox/os/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace sandglass::os {
namespace {

// From the kernel's devices.txt: 5:2 is ptmx, in every devpts.
constexpr unsigned kPtmxMajor = 5;
constexpr unsigned kPtmxMinor = 2;

}  // namespace

bool OpenTerminal(const char* directory, Fd& master, Fd& slave) {
  constexpr int kFlags = O_RDWR | O_NOCTTY | O_CLOEXEC;
  const Fd parent(::open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!parent.valid()) return false;
  master.reset(::openat(parent.get(), "ptmx", kFlags | O_NONBLOCK));
  int locked = 0;
  if (!master.valid() || ::ioctl(master.get(), TIOCSPTLCK, &locked) != 0) {
    return false;
  }
  // Opens the slave of exactly this master, whatever the directory shows.
  slave.reset(::ioctl(master.get(), TIOCGPTPEER, kFlags));
  return slave.valid();
}

bool AcquireTerminal(int terminal) {
  return ::ioctl(terminal, TIOCSCTTY, 0) == 0;
}

bool SetTerminalSize(int terminal, uint16_t rows, uint16_t columns) {
  const struct winsize size = {rows, columns, 0, 0};
  return ::ioctl(terminal, TIOCSWINSZ, &size) == 0;
}

pid_t ForegroundGroup(int master) {
  pid_t here = 0;
  if (::ioctl(master, TIOCGPGRP, &here) != 0 || here <= 0) return 0;
  std::ifstream status("/proc/" + std::to_string(here) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("NSpid:", 0) != 0) continue;
    const size_t last = line.find_last_of("\t ");
    return static_cast<pid_t>(
        std::strtol(line.c_str() + last + 1, nullptr, 10));
  }
  return 0;
}

bool IsTerminalMaster(int fd) {
  struct stat info = {};
  int number = 0;
  return ::fstat(fd, &info) == 0 && S_ISCHR(info.st_mode) &&
         major(info.st_rdev) == kPtmxMajor &&
         minor(info.st_rdev) == kPtmxMinor &&
         ::ioctl(fd, TIOCGPTN, &number) == 0;
}

}  // namespace sandglass::os
