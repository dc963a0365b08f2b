#include "bench/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"
#include "sandbox/os/process.h"
#include "sandbox/os/status.h"

namespace sandglass::bench {
namespace {

// Of a child that was left behind, after its parent's end.
constexpr absl::Duration kTimeLimit = absl::Seconds(30);
constexpr off_t kErrorBytes = 300;
constexpr int kInfoFd = 3;

class FileActions {
 public:
  FileActions() { posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;

  // Returns 0, or an errno when there is no memory.
  int Fill(const Command& command, int output, int error, int info) {
    int result = posix_spawn_file_actions_addchdir_np(
        &actions_, command.directory.c_str());
    if (result == 0) {
      result = posix_spawn_file_actions_addopen(
          &actions_, STDIN_FILENO, command.input.c_str(), O_RDONLY, 0);
    }
    if (result == 0) {
      result =
          posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    }
    if (result == 0) {
      result =
          posix_spawn_file_actions_adddup2(&actions_, error, STDERR_FILENO);
    }
    if (result == 0 && info >= 0) {
      result = posix_spawn_file_actions_adddup2(&actions_, info, kInfoFd);
    }
    return result;
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) {
    pointers.push_back(const_cast<char*>(string.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Reads until every writer has closed. False when the time is up.
bool ReadToEnd(int fd, absl::Time deadline, std::string& output) {
  char buffer[4096];
  for (;;) {
    pollfd poller = {fd, POLLIN, 0};
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    if (left <= 0) return false;
    const int ready = ::poll(&poller, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t count = ::read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count == 0;
    output.append(buffer, static_cast<size_t>(count));
  }
}

// Ends with the child reaped in any case. Its wait status; nullopt when it had
// to be killed.
std::optional<int> Reap(pid_t pid, bool in_time, absl::Time deadline,
                        absl::Duration& cpu) {
  if (in_time) {
    // A child that closed its stdout may still live on.
    const os::Fd pidfd = os::PidfdOpen(pid);
    pollfd poller = {pidfd.get(), POLLIN, 0};
    const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now());
    in_time = !pidfd.valid() ||
              (left > 0 && ::poll(&poller, 1, static_cast<int>(left)) == 1);
  }
  if (!in_time) ::kill(pid, SIGKILL);
  int status = 0;
  rusage usage = {};
  while (::wait4(pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  cpu = absl::DurationFromTimeval(usage.ru_utime) +
        absl::DurationFromTimeval(usage.ru_stime);
  if (!in_time) return std::nullopt;
  return status;
}

// The end of the process that bubblewrap names in what it wrote about itself:
// {"child-pid": 123, …}. Its processor time, zero when there is no such.
absl::Duration ReapNamedChild(const os::Fd& info) {
  constexpr std::string_view kKey = "\"child-pid\":";
  std::string text(kErrorBytes, '\0');
  const ssize_t count = ::read(info.get(), text.data(), text.size());
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  const size_t found = text.find(kKey);
  if (found == std::string::npos) return absl::ZeroDuration();
  const auto pid = static_cast<pid_t>(
      std::strtol(text.c_str() + found + kKey.size(), nullptr, 10));
  absl::Duration cpu;
  if (pid > 0) Reap(pid, true, absl::Now() + kTimeLimit, cpu);
  return cpu;
}

std::string Fate(int status) {
  return WIFSIGNALED(status) ? absl::StrCat("signal ", WTERMSIG(status))
                             : absl::StrCat("exit code ", WEXITSTATUS(status));
}

// One line of what the command said last.
std::string LastWords(const os::Fd& error) {
  std::string text(kErrorBytes, '\0');
  const off_t size = ::lseek(error.get(), 0, SEEK_END);
  const off_t start = size > kErrorBytes ? size - kErrorBytes : 0;
  const ssize_t count = ::pread(error.get(), text.data(), text.size(), start);
  text.resize(count > 0 ? static_cast<size_t>(count) : 0);
  for (char& c : text) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  absl::StripAsciiWhitespace(&text);
  return text;
}

}  // namespace

void AdoptChildren() { ::prctl(PR_SET_CHILD_SUBREAPER, 1); }

absl::StatusOr<CommandResult> RunCommand(const Command& command) {
  const std::vector<char*> argv = Pointers(command.argv);
  const std::vector<char*> env = Pointers(command.env);
  absl::StatusOr<os::Fd> error = os::MakeMemfd("stderr", "");
  if (!error.ok()) return error.status();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return os::ErrnoStatus("pipe2");
  os::Fd reader(ends[0]);
  os::Fd writer(ends[1]);
  os::Fd info_reader;
  os::Fd info_writer;
  if (command.leaves_child) {
    if (::pipe2(ends, O_CLOEXEC) != 0) return os::ErrnoStatus("pipe2");
    info_reader = os::Fd(ends[0]);
    info_writer = os::Fd(ends[1]);
  }
  FileActions actions;
  if (const int failure =
          actions.Fill(command, writer.get(), error->get(), info_writer.get());
      failure != 0) {
    return absl::ErrnoToStatus(failure, "posix_spawn_file_actions");
  }

  CommandResult result;
  const int64_t start = os::MonotonicNanos();
  pid_t pid = -1;
  if (const int failure = ::posix_spawn(&pid, argv[0], actions.get(), nullptr,
                                        argv.data(), env.data());
      failure != 0) {
    return absl::ErrnoToStatus(failure, absl::StrCat("start ", argv[0]));
  }
  writer.reset();
  info_writer.reset();
  const absl::Time deadline = absl::Now() + command.time_limit;
  const bool in_time = ReadToEnd(reader.get(), deadline, result.output);
  const std::optional<int> status = Reap(pid, in_time, deadline, result.cpu);
  result.time = absl::Nanoseconds(os::MonotonicNanos() - start);
  if (info_reader.valid()) result.cpu += ReapNamedChild(info_reader);

  if (!status.has_value()) {
    return absl::DeadlineExceededError(absl::StrCat(
        command.argv[0], " did not end within ",
        absl::FormatDuration(command.time_limit), "; ", LastWords(*error)));
  }
  if (*status != 0) {
    return absl::UnknownError(absl::StrCat(command.argv[0], ": ", Fate(*status),
                                           ": ", LastWords(*error)));
  }
  return result;
}

}  // namespace sandglass::bench
