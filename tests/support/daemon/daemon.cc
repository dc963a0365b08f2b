#include "tests/support/daemon/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "tests/support/slowdown.h"
#include "tests/support/text.h"
#include "tests/support/wait.h"

namespace sandglass::testing {
namespace {

constexpr absl::Duration kStopTimeout = absl::Seconds(20);
constexpr absl::Duration kSettleTimeout = absl::Seconds(10);
constexpr int kKeeperGraceMilliseconds = 5000;

void WriteFile(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// Body of the keeper. Only calls that are safe after a fork of a threaded
// process. Ends with the daemon, or ends the daemon when the pipe's other end
// (the test) is gone.
[[noreturn]] void KeepDaemon(int pipe_fd, int daemon_pidfd) {
  pollfd fds[2] = {{pipe_fd, POLLIN, 0}, {daemon_pidfd, POLLIN, 0}};
  while (poll(fds, 2, -1) < 0 && errno == EINTR) {
  }
  if (fds[1].revents == 0) {
    syscall(SYS_pidfd_send_signal, daemon_pidfd, SIGTERM, nullptr, 0);
    poll(&fds[1], 1, kKeeperGraceMilliseconds);
    syscall(SYS_pidfd_send_signal, daemon_pidfd, SIGKILL, nullptr, 0);
  }
  _exit(0);
}

// The daemon of this build, unless $SANDGLASS_TEST_DAEMON names another, such
// as an installed one.
std::string DaemonPath() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* named = std::getenv("SANDGLASS_TEST_DAEMON");
  return named != nullptr && *named != '\0' ? named : SANDGLASSD_PATH;
}

// Adds a key to the text of a JSON object that doesn't have it.
void AddKey(const std::string& key, const std::string& value,
            std::string& config) {
  if (config.find(absl::StrCat("\"", key, "\"")) != std::string::npos) return;
  const size_t brace = config.find('{');
  const size_t next = config.find_first_not_of(" \n", brace + 1);
  const bool empty = next != std::string::npos && config[next] == '}';
  config.insert(brace + 1,
                absl::StrCat("\"", key, "\": ", value, empty ? "" : ", "));
}

// Only one daemon at a time may use a directory of libraries, and several run
// at once.
void AddOwnLibraries(const std::string& directory, std::string& config) {
  AddKey("libraries",
         absl::StrCat(R"({"dir": ")", directory, R"(/libraries"})"), config);
}

// Daemons that run side by side must not share ids, and all that are started
// by default have the same. The uid stays the same for all, since it owns the
// cache that they share.
void AddOwnIds(std::string& config) {
  constexpr uint64_t kDefaultBase = 1879048192;
  // With room for ids just below the first.
  constexpr uint64_t kStride = 131072;
  // Of uids that the setting takes; the first is left to who has the default.
  constexpr uint64_t kRanges = 16000;
  constexpr uint64_t kPerProcess = 8;
  static std::atomic<uint64_t> count = 0;
  const uint64_t range = 1 + (static_cast<uint64_t>(getpid()) * kPerProcess +
                              count++ % kPerProcess) %
                                 (kRanges - 1);
  AddKey("uid_base", absl::StrCat(kDefaultBase + range * kStride), config);
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  if (getpwnam("sandglass") == nullptr) {
    AddKey("user",
           absl::StrCat("\"", kDefaultBase - 1, ":", kDefaultBase - 1, "\""),
           config);
  }
}

bool IsOwnGroup(const std::string& group,
                const std::vector<std::string>& of_test) {
  return group.find("sandglass") != std::string::npos &&
         std::find(of_test.begin(), of_test.end(), group) == of_test.end();
}

// Jails that prepare languages in the background are in the way of tests that
// count jails.
bool IsPreparing(Client& client) {
  v1::GetServerInfoResponse info;
  if (!client.Info(&info).ok()) return false;
  return std::any_of(info.languages().begin(), info.languages().end(),
                     [](const auto& language) { return language.preparing(); });
}

std::vector<std::string> MountsNaming(const std::string& text) {
  std::vector<std::string> mounts;
  for (const std::string& line : Lines(ReadProc(getpid(), "mountinfo"))) {
    if (line.find(text) != std::string::npos) mounts.push_back(line);
  }
  return mounts;
}

}  // namespace

std::string MakeTestDirectory() {
  std::string path = "/tmp/sandglass-test-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return "";
  chmod(path.c_str(), 0755);
  return path;
}

std::string MakeCacheDirectory() {
  namespace fs = std::filesystem;
  // Beside the other, for hard links: what is prepared is large.
  std::string path = TEST_CACHE_DIR "-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return "";
  chmod(path.c_str(), 0755);
  std::error_code error;
  fs::copy(TEST_CACHE_DIR "/prepared", path + "/prepared",
           fs::copy_options::recursive | fs::copy_options::create_hard_links,
           error);
  return path;
}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(
    const DaemonOptions& options) {
  if (geteuid() != 0) {
    return absl::PermissionDeniedError(
        "this test starts a real sandglassd, which needs root: run it as root "
        "(it is not skipped, since then nothing would be tested)");
  }
  std::unique_ptr<Daemon> daemon(new Daemon());
  if (absl::Status status = daemon->Launch(options); !status.ok()) {
    return status;
  }
  if (absl::Status status = daemon->WaitUntilServing(options); !status.ok()) {
    return absl::Status(
        status.code(),
        absl::StrCat(status.message(), "; its log ends:\n", daemon->LogTail()));
  }
  daemon->Remember();
  return daemon;
}

absl::Status Daemon::Launch(const DaemonOptions& options) {
  owns_directory_ = options.directory.empty();
  directory_ = owns_directory_ ? MakeTestDirectory() : options.directory;
  if (directory_.empty()) {
    return absl::ErrnoToStatus(errno, "can't make a directory in /tmp");
  }
  // In a directory that the daemon makes, as /run/sandglass is.
  socket_path_ = absl::StrCat(directory_, "/run/sock");
  address_ = absl::StrCat("unix:", socket_path_);
  log_path_ = absl::StrCat(directory_, "/log");
  client_ = std::make_unique<Client>(address_);

  std::vector<std::string> arguments = {
      DaemonPath(),
      "--listen",
      address_,
      "--state-dir",
      options.state_seen_at.empty() ? absl::StrCat(directory_, "/state")
                                    : options.state_seen_at,
      "--cache-dir",
      options.cache_directory.empty() ? TEST_CACHE_DIR
                                      : options.cache_directory};
  // Unless a test says otherwise, jails for limits that a test had are soon
  // gone, so that what is there after it is known; and every run is compiled,
  // whatever ran before.
  // NOLINTNEXTLINE(concurrency-mt-unsafe)
  const char* named = std::getenv("SANDGLASS_TEST_CONFIG");
  std::string config = options.config.value_or(
      named != nullptr
          ? named
          : R"({"pool": {"idle_age": "1s"}, "compile_cache": {"max_bytes": 0}})");
  if (!options.canaries) AddKey("canaries", "false", config);
  // One that isn't root has those of its own user namespace.
  if (DaemonPath().find("rootless") == std::string::npos) AddOwnIds(config);
  AddOwnLibraries(directory_, config);
  {
    const std::string path = absl::StrCat(directory_, "/config.json");
    WriteFile(path, config);
    arguments.insert(arguments.end(), {"--config", path});
  }
  if (options.slow_policy && Slowdown() > 1) {
    const std::string path = absl::StrCat(directory_, "/policy");
    if (!WriteSlowPolicy(path)) {
      return absl::InternalError(absl::StrCat("can't write ", path));
    }
    arguments.insert(arguments.end(), {"--policy-dir", path});
  }
  arguments.insert(arguments.end(), options.extra_arguments.begin(),
                   options.extra_arguments.end());
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  // The secret must never be seen inside a jail; tests look for it there.
  std::string path_variable = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  std::string secret_variable = "SANDGLASS_TEST_SECRET=do-not-leak-me";
  std::string sockets_variable = "LISTEN_FDS=1";
  char pid_variable[32] = "LISTEN_PID=";
  char* environment[] = {
      path_variable.data(), secret_variable.data(),
      options.listener < 0 ? nullptr : sockets_variable.data(), pid_variable,
      nullptr};

  const os::Fd log(
      open(log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  const os::Fd null(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::string state = directory_ + "/state";
  if (!options.state_seen_at.empty()) mkdir(state.c_str(), 0755);
  const pid_t child = fork();
  if (child == 0) {
    // Only calls that are safe after a fork of a threaded process.
    dup2(null.get(), 0);
    dup2(log.get(), 1);
    dup2(log.get(), 2);
    setsid();
    if (options.listener >= 0) {
      dup2(options.listener, 3);
      char* const end = pid_variable + strlen(pid_variable);
      std::to_chars(end, std::end(pid_variable), getpid());
    }
    if (!options.state_seen_at.empty() &&
        (unshare(CLONE_NEWNS) != 0 ||
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
         mount(state.c_str(), options.state_seen_at.c_str(), nullptr, MS_BIND,
               nullptr) != 0)) {
      _exit(126);
    }
    execve(argv[0], argv.data(), environment);
    (void)!write(2, argv[0], strlen(argv[0]));
    const char message[] = ": can't execute it\n";
    (void)!write(2, message, sizeof(message) - 1);
    _exit(127);
  }
  if (child < 0) return absl::ErrnoToStatus(errno, "can't fork");
  const std::optional<Process> process = FindProcess(child);
  process_ = process.value_or(Process{child, 0});
  return StartKeeper();
}

absl::Status Daemon::StartKeeper() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "can't make the keeper's pipe");
  }
  const os::Fd read_end(ends[0]);
  keeper_pipe_ = os::Fd(ends[1]);
  const os::Fd pidfd(
      static_cast<int>(syscall(SYS_pidfd_open, process_.pid, 0)));
  if (!pidfd.valid()) return absl::ErrnoToStatus(errno, "can't open a pidfd");
  keeper_ = fork();
  if (keeper_ == 0) {
    // Of all that a fork copies only these two are kept: an inherited write end
    // would hide the test's death.
    const int pipe_copy = 3;
    const int pidfd_copy = 4;
    const int pipe_high = fcntl(read_end.get(), F_DUPFD, 10);
    const int pidfd_high = fcntl(pidfd.get(), F_DUPFD, 10);
    dup2(pipe_high, pipe_copy);
    dup2(pidfd_high, pidfd_copy);
    syscall(SYS_close_range, 5U, ~0U, 0U);
    syscall(SYS_close_range, 0U, 2U, 0U);
    setsid();
    KeepDaemon(pipe_copy, pidfd_copy);
  }
  if (keeper_ < 0) return absl::ErrnoToStatus(errno, "can't fork the keeper");
  return absl::OkStatus();
}

absl::Status Daemon::WaitUntilServing(const DaemonOptions& options) {
  const absl::Duration timeout = options.start_timeout;
  const bool done = WaitUntil(
      [&] {
        return Wait(absl::ZeroDuration()).has_value() ||
               (client_->Serving(options.serving) && !IsPreparing(*client_));
      },
      timeout);
  if (wait_status_) {
    return absl::FailedPreconditionError(absl::StrCat(
        "sandglassd ended before it was ready, wait status ", *wait_status_));
  }
  if (!done) {
    return absl::DeadlineExceededError(
        absl::StrCat("sandglassd was not SERVING, all prepared, within ",
                     absl::FormatDuration(timeout)));
  }
  return absl::OkStatus();
}

Daemon::~Daemon() {
  if (process_.pid > 0 && !wait_status_) {
    Signal(SIGKILL);
    Wait(kStopTimeout);
  }
  keeper_pipe_ = os::Fd();
  if (keeper_ > 0) waitpid(keeper_, nullptr, 0);
  if (owns_directory_ && !directory_.empty()) {
    // The list of control groups goes with the directory: now or never.
    const absl::Status swept = Sweep();
    if (!swept.ok()) std::cerr << swept.message() << "\n";
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
}

void Daemon::Remember() {
  std::set<Process> seen(seen_.begin(), seen_.end());
  std::set<std::string> groups(groups_.begin(), groups_.end());
  const std::vector<std::string> of_test = GroupsOf(getpid());
  for (const Process& process : Processes()) {
    seen.insert(process);
    for (const std::string& group : GroupsOf(process.pid)) {
      if (IsOwnGroup(group, of_test)) groups.insert(group);
    }
  }
  seen_.assign(seen.begin(), seen.end());
  groups_.assign(groups.begin(), groups.end());
}

std::optional<int> Daemon::Wait(absl::Duration timeout) {
  if (wait_status_) return wait_status_;
  WaitUntil(
      [&] {
        int status = 0;
        const pid_t ended = waitpid(process_.pid, &status, WNOHANG);
        if (ended == process_.pid) wait_status_ = status;
        return ended != 0;
      },
      timeout);
  return wait_status_;
}

absl::Status Daemon::Stop() {
  Remember();
  // An idle channel does not read the daemon's goodbye for seconds; the daemon
  // waits for it.
  client_.reset();
  Signal(SIGTERM);
  const std::optional<int> status = Wait(kStopTimeout);
  if (!status) {
    return absl::DeadlineExceededError(absl::StrCat(
        "sandglassd did not end within ", absl::FormatDuration(kStopTimeout),
        " of SIGTERM; its log ends:\n", LogTail()));
  }
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
    return absl::InternalError(
        absl::StrCat("sandglassd ended with wait status ", *status,
                     " and not with exit code 0; its log ends:\n", LogTail()));
  }
  // No process may be left at once. The empty groups and the socket's directory
  // are root's, which the daemon no longer was: removing them takes root again.
  Leftovers leftovers = FindLeftovers(kSettleTimeout, false);
  if (leftovers.all.empty()) {
    if (absl::Status swept = Sweep(); !swept.ok()) return swept;
    leftovers = FindLeftovers(kSettleTimeout);
  }
  if (!leftovers.all.empty()) {
    return absl::InternalError(absl::StrCat(
        "sandglassd left behind: ", absl::StrJoin(leftovers.all, "; "),
        "; its log ends:\n", LogTail()));
  }
  return absl::OkStatus();
}

int Daemon::Command(const char* option) const {
  const std::string path = DaemonPath();
  const std::string state_dir = directory_ + "/state";
  const pid_t pid = fork();
  if (pid == 0) {
    execl(path.c_str(), "sandglassd", option, "--state-dir", state_dir.c_str(),
          "--listen", address_.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  return pid < 0 || waitpid(pid, &status, 0) != pid ? -1 : status;
}

absl::Status Daemon::Sweep() const {
  const int status = Command("--sweep");
  if (status != 0) {
    return absl::InternalError(
        absl::StrCat("sandglassd --sweep ended with wait status ", status));
  }
  return absl::OkStatus();
}

Leftovers Daemon::FindLeftovers(absl::Duration timeout, bool expect_no_groups) {
  Leftovers leftovers;
  WaitUntil(
      [&] {
        leftovers = LookForLeftovers(expect_no_groups);
        return leftovers.all.empty();
      },
      timeout);
  return leftovers;
}

Leftovers Daemon::LookForLeftovers(bool expect_no_groups) const {
  Leftovers leftovers;
  std::set<Process> alive;
  for (const Process& process : seen_) {
    if (IsAlive(process)) alive.insert(process);
  }
  for (const Process& process : ProcessesInGroups(groups_)) {
    alive.insert(process);
  }
  for (const Process& process : alive) {
    leftovers.all.push_back(absl::StrCat("process ", Describe(process)));
  }
  if (!expect_no_groups) return leftovers;
  for (const std::string& group : groups_) {
    const std::string path = GroupDirectory(group);
    std::error_code error;
    if (!path.empty() && std::filesystem::exists(path, error)) {
      leftovers.all.push_back(absl::StrCat("cgroup ", path));
    }
  }
  for (const std::string& mount : MountsNaming(directory_)) {
    leftovers.all.push_back(absl::StrCat("mount ", mount));
  }
  if (std::filesystem::exists(std::filesystem::symlink_status(socket_path_))) {
    leftovers.all.push_back(absl::StrCat("socket ", socket_path_));
  }
  return leftovers;
}

std::string Daemon::LogTail(size_t lines) const {
  std::ifstream file(log_path_, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  std::vector<std::string> all = absl::StrSplit(content.str(), '\n');
  if (all.size() > lines) {
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(lines));
  }
  return absl::StrJoin(all, "\n");
}

std::string MakeMarker() {
  static int count = 0;
  return absl::StrCat("marker-", getpid(), "-", absl::ToUnixMicros(absl::Now()),
                      "-", ++count);
}

std::vector<Process> WaitForMarked(const Daemon& daemon,
                                   const std::string& marker) {
  std::vector<Process> found;
  WaitUntil(
      [&] {
        found = FindByCommand(daemon.pid(), marker);
        return !found.empty();
      },
      absl::Seconds(10));
  return found;
}

}  // namespace sandglass::testing
