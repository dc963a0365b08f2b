#include "server/daemon/preflight_helpers.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sandbox/os/fd.h"
#include "server/base/clock.h"
#include "server/base/strings.h"
#include "server/base/version.h"

namespace sandglass::server {
namespace {

constexpr size_t kMaxAnswerBytes = 128;

// Reads what a program writes to its standard output until it closes it, at
// most `max` bytes.
std::string ReadUntil(const os::Fd& output, MonotonicTime deadline,
                      size_t max) {
  std::string text(max, '\0');
  size_t size = 0;
  while (size < max) {
    pollfd wait = {.fd = output.get(), .events = POLLIN, .revents = 0};
    const auto left = Between(Now(), deadline);
    if (left <= absl::ZeroDuration()) break;
    const int ready =
        ::poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    // A daemon that is starting catches SIGHUP, and poll is never restarted
    // after a signal.
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 1) break;
    const ssize_t got = ::read(output.get(), text.data() + size, max - size);
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  text.resize(size);
  return text;
}

absl::StatusOr<std::string> AnswerToVersion(const std::string& path,
                                            absl::Duration wait) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return absl::InternalError(absl::StrCat("pipe2: ", ErrorText(errno)));
  }
  const os::Fd output(ends[0]);
  os::Fd input(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, input.get(), 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  std::string program = path;
  std::string flag = "--version";
  std::vector<char*> argv = {program.data(), flag.data(), nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, path.c_str(), &actions, nullptr,
                                  argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    const std::string why = absl::StrCat(path, ": ", ErrorText(error));
    // These errors may go away.
    return error == EAGAIN || error == ENOMEM || error == ENFILE
               ? absl::UnavailableError(why)
               : absl::InternalError(why);
  }
  input.reset();
  const MonotonicTime deadline = After(Now(), wait);
  const std::string text = ReadUntil(output, deadline, kMaxAnswerBytes);
  const bool late = Now() >= deadline;
  ::kill(pid, SIGKILL);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  if (text.empty() && WIFSIGNALED(status)) {
    return absl::UnavailableError(
        late ? absl::StrCat(path, ": it said nothing within ",
                            absl::FormatDuration(wait))
             : absl::StrCat(path, ": it said nothing and was killed"));
  }
  return text;
}

}  // namespace

absl::Status CheckHelper(const std::string& setting, const std::string& path,
                         const std::string& name, absl::Duration wait) {
  const auto wrong = [&](const std::string& why) {
    return absl::FailedPreconditionError(
        absl::StrCat(why, "; set \"", setting, "\" to this version's ", name));
  };
  if (::access(path.c_str(), X_OK) != 0) {
    return wrong(absl::StrCat("there is no executable ", path));
  }
  absl::StatusOr<std::string> answer = AnswerToVersion(path, wait);
  if (!answer.ok()) {
    const std::string why =
        absl::StrCat("can't run ", answer.status().message());
    return absl::IsUnavailable(answer.status()) ? absl::UnavailableError(why)
                                                : wrong(why);
  }
  const std::string right = absl::StrCat(name, " ", kVersion);
  const std::string said = answer->substr(0, answer->find('\n'));
  if (said == right) return absl::OkStatus();
  return wrong(absl::StrCat(path, " is no ", right, ": it says ",
                            Quoted(said, kMaxAnswerBytes)));
}

std::vector<absl::Status> CheckHelpers(const Config& config) {
  return {CheckHelper("spawner", config.spawner, "sandglass-spawner"),
          CheckHelper("egress.path", config.egress.path, "sandglass-egress")};
}

}  // namespace sandglass::server
