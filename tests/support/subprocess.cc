#include "tests/support/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "client/base/file_io.h"

namespace sandglass::client {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience(20);

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Reads once; false at the end. A terminal whose other side is gone says EIO.
bool ReadSome(UniqueFd& fd, std::string& into) {
  char buffer[65536];
  const ssize_t got = read(fd.get(), buffer, sizeof(buffer));
  if (got <= 0) {
    fd = UniqueFd();
    return false;
  }
  into.append(buffer, static_cast<size_t>(got));
  return true;
}

}  // namespace

Subprocess::Subprocess(const SubprocessOptions& options) {
  UniqueFd in(memfd_create("stdin", MFD_CLOEXEC));
  WriteAll(in.get(), options.stdin_text);
  lseek(in.get(), 0, SEEK_SET);
  if (options.input_pipe) {
    int ends[2] = {};
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    in = UniqueFd(ends[0]);
    in_ = UniqueFd(ends[1]);
  }
  UniqueFd child_out;
  UniqueFd child_err;
  if (options.terminal) {
    termios raw = {};
    cfmakeraw(&raw);
    int master = -1;
    int slave = -1;
    const winsize size = {30, 90, 0, 0};
    openpty(&master, &slave, nullptr, options.terminal_input ? nullptr : &raw,
            &size);
    out_ = UniqueFd(master);
    child_out = UniqueFd(slave);
    child_err = UniqueFd(fcntl(slave, F_DUPFD_CLOEXEC, 0));
    fcntl(master, F_SETFD, FD_CLOEXEC);
    fcntl(slave, F_SETFD, FD_CLOEXEC);
    terminal_ = UniqueFd(fcntl(master, F_DUPFD_CLOEXEC, 0));
    if (options.terminal_input) {
      in = UniqueFd(fcntl(slave, F_DUPFD_CLOEXEC, 0));
    }
  } else {
    int pipes[2][2] = {};
    for (auto& ends : pipes) {
      if (pipe2(ends, O_CLOEXEC) != 0) return;
    }
    out_ = UniqueFd(pipes[0][0]);
    child_out = UniqueFd(pipes[0][1]);
    err_ = UniqueFd(pipes[1][0]);
    child_err = UniqueFd(pipes[1][1]);
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  short more_flags = 0;
  if (options.controlling) {
    // The first terminal that a session's leader opens is its own.
    char name[64] = "";
    ptsname_r(terminal_.get(), name, sizeof(name));
    posix_spawn_file_actions_addopen(&actions, 3, name, O_RDWR, 0);
    posix_spawn_file_actions_addclose(&actions, 3);
    more_flags = POSIX_SPAWN_SETSID;
  }
  posix_spawn_file_actions_adddup2(&actions, in.get(), 0);
  posix_spawn_file_actions_adddup2(&actions, child_out.get(), 1);
  posix_spawn_file_actions_adddup2(&actions, child_err.get(), 2);
  posix_spawn_file_actions_addchdir_np(&actions, options.directory.c_str());
  // A test runner may have ignored signals that the child is to get.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigfillset(&defaults);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(
      &attributes, static_cast<short>(POSIX_SPAWN_SETSIGDEF |
                                      POSIX_SPAWN_SETSIGMASK | more_flags));
  std::vector<std::string> args = options.args;
  args.insert(args.begin(), options.program);
  std::vector<std::string> env = options.env;
  if (posix_spawn(&pid_, options.program.c_str(), &actions, &attributes,
                  Pointers(args).data(), Pointers(env).data()) != 0) {
    pid_ = -1;
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
}

Subprocess::~Subprocess() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

bool Subprocess::Pump() {
  pollfd pollers[] = {{out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}};
  if (poll(pollers, 2, 20) > 0) {
    if (pollers[0].revents != 0) ReadSome(out_, result_.out);
    if (pollers[1].revents != 0) ReadSome(err_, result_.err);
  }
  return out_.valid() || err_.valid();
}

bool Subprocess::PumpUntil(const std::string& text, const std::string& in) {
  const auto deadline = Clock::now() + kPatience;
  while (in.find(text) == std::string::npos) {
    if (Clock::now() > deadline || !Pump()) return false;
  }
  return true;
}

bool Subprocess::ReadUntil(const std::string& text) {
  return PumpUntil(text, result_.out);
}

bool Subprocess::ReadErrorUntil(const std::string& text) {
  return PumpUntil(text, result_.err);
}

void Subprocess::Send(const std::string& text) const {
  WriteAll(in_.get(), text);
}

void Subprocess::CloseInput() { in_ = UniqueFd(); }

void Subprocess::CloseOutput() { out_ = UniqueFd(); }

void Subprocess::Signal(int number) const { kill(pid_, number); }

void Subprocess::Type(const std::string& text) const {
  WriteAll(terminal_.get(), text);
}

void Subprocess::SetTerminalSize(int rows, int columns) const {
  winsize size = {};
  size.ws_row = static_cast<unsigned short>(rows);
  size.ws_col = static_cast<unsigned short>(columns);
  ioctl(terminal_.get(), TIOCSWINSZ, &size);
}

bool Subprocess::TerminalIsRaw() const {
  termios state = {};
  return tcgetattr(terminal_.get(), &state) == 0 &&
         (state.c_lflag & (ICANON | ISIG | ECHO)) == 0;
}

SubprocessResult Subprocess::Wait() {
  const auto deadline = Clock::now() + kPatience;
  while (pid_ >= 0 && Clock::now() < deadline) {
    const bool open = Pump();
    int status = 0;
    if (waitpid(pid_, &status, open ? WNOHANG : 0) != pid_) continue;
    pid_ = -1;
    while (Pump()) {
    }
    result_.exit_code =
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  return std::move(result_);
}

SubprocessResult RunProcess(const SubprocessOptions& options) {
  return Subprocess(options).Wait();
}

}  // namespace sandglass::client
