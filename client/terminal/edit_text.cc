#include "client/terminal/edit_text.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/base/file_io.h"
#include "client/base/unique_fd.h"
#include "client/terminal/terminal_look.h"

namespace sandglass::client {
namespace {

namespace fs = std::filesystem;

constexpr char kTerminal[] = "/dev/tty";
constexpr size_t kMaxText = size_t{1} << 20;
constexpr absl::Duration kPoll = absl::Milliseconds(50);
constexpr absl::Duration kGrace = absl::Seconds(2);

absl::Status Failed(const std::string& what) {
  return absl::UnavailableError(absl::StrCat(what, " (",
                                             std::strerror(errno),  // NOLINT
                                             "); nothing ran"));
}

// A directory that only this user can read; the destructor removes it.
class PrivateDirectory {
 public:
  PrivateDirectory() {
    for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
      const std::string below = EnvironmentVariable(name);
      if (!below.empty() && below.front() == '/' && Make(below)) return;
    }
    Make("/tmp");
  }
  ~PrivateDirectory() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  PrivateDirectory(const PrivateDirectory&) = delete;
  PrivateDirectory& operator=(const PrivateDirectory&) = delete;

  // Empty if none could be made.
  const std::string& path() const { return path_; }

 private:
  bool Make(const std::string& below) {
    std::string path = absl::StrCat(below, "/sandglass-edit-XXXXXX");
    if (::mkdtemp(path.data()) == nullptr) return false;
    path_ = std::move(path);
    return true;
  }

  std::string path_;
};

// Ctrl-\ goes to the editor, too.
class WithoutQuit {
 public:
  WithoutQuit() {
    struct sigaction ignore = {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGQUIT, &ignore, &before_);
  }
  ~WithoutQuit() { ::sigaction(SIGQUIT, &before_, nullptr); }
  WithoutQuit(const WithoutQuit&) = delete;
  WithoutQuit& operator=(const WithoutQuit&) = delete;

 private:
  struct sigaction before_ = {};
};

[[noreturn]] void BecomeEditor(const std::string& command,
                               const std::string& path) {
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGQUIT, SIG_DFL);
  const int terminal = ::open(kTerminal, O_RDWR);
  ::dup2(terminal, 0);
  ::dup2(terminal, 1);
  ::execl("/bin/sh", "sh", "-c", command.c_str(), "editor", path.c_str(),
          nullptr);
  ::_exit(127);
}

// The wait status of the child; nullopt while it runs.
std::optional<int> Ended(pid_t child) {
  int status = 0;
  const pid_t waited = ::waitpid(child, &status, WNOHANG);
  if (waited == 0 || (waited < 0 && errno == EINTR)) return std::nullopt;
  return waited == child ? status : -1;
}

void EndEditor(pid_t child) {
  ::kill(child, SIGTERM);
  for (absl::Duration waited; waited < kGrace; waited += kPoll) {
    if (Ended(child)) return;
    absl::SleepFor(kPoll);
  }
  ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

// Runs the user's editor over a file, in the foreground.
absl::Status Edit(const std::string& path, InterruptWatcher& interrupts) {
  std::string editor = EnvironmentVariable("VISUAL");
  if (editor.empty()) editor = EnvironmentVariable("EDITOR");
  if (editor.empty()) editor = "vi";
  // As in other programs, it may be a command with arguments.
  const std::string command = absl::StrCat("exec ", editor, " \"$1\"");
  const InterruptWatcher::KeyboardElsewhere keyboard(interrupts);
  const WithoutQuit without_quit;
  const pid_t child = ::fork();
  if (child < 0) return Failed("the editor could not be started");
  if (child == 0) BecomeEditor(command, path);
  while (true) {
    if (const std::optional<int> status = Ended(child)) {
      if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0) {
        return absl::OkStatus();
      }
      return absl::UnavailableError(
          absl::StrCat("the editor '", editor, "' failed; nothing ran"));
    }
    if (interrupts.signal() != 0) {
      EndEditor(child);
      return absl::CancelledError("interrupted; nothing ran");
    }
    absl::SleepFor(kPoll);
  }
}

}  // namespace

absl::StatusOr<std::string> EditText(const std::string& text,
                                     const std::string& name,
                                     InterruptWatcher& interrupts) {
  const PrivateDirectory directory;
  if (directory.path().empty()) {
    return Failed("no directory for the editor's file could be made");
  }
  const std::string path = absl::StrCat(directory.path(), "/", name);
  {
    const UniqueFd file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.get() < 0 || WriteAll(file.get(), text) != 0) {
      return Failed("the editor's file could not be written");
    }
  }
  if (absl::Status edited = Edit(path, interrupts); !edited.ok()) {
    return edited;
  }
  absl::StatusOr<FileContent> content = ReadInput(path, kMaxText);
  if (!content.ok()) return content.status();
  return std::move(content->bytes);
}

}  // namespace sandglass::client
