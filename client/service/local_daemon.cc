#include "client/service/local_daemon.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "client/base/terminal_filter.h"
#include "client/connection/address.h"

namespace sandglass::client {
namespace {

namespace fs = std::filesystem;

constexpr char kRecord[] = "/daemon";
constexpr char kLog[] = "/log";
constexpr absl::Duration kFirstWait = absl::Milliseconds(100);
constexpr absl::Duration kEndWait = absl::Seconds(10);
constexpr absl::Duration kBeat = absl::Milliseconds(10);
// The start time in /proc/PID/stat, counted after the name in brackets.
constexpr size_t kStartField = 19;
constexpr char kShell[] = "/bin/sh";
// Of what is to be started: it waits there for a line.
constexpr int kGate = 3;
constexpr char kWaitsAndBecomes[] = "read -r _ <&3 && exec \"$@\" 3<&-";

std::string Words(int error) {
  const char* words = strerrordesc_np(error);
  return words != nullptr ? words : absl::StrCat("error ", error);
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// 0 when there is no such process.
uint64_t StartOf(pid_t pid) {
  const std::string stat = ReadAll(absl::StrCat("/proc/", pid, "/stat"));
  const size_t name_end = stat.rfind(") ");
  if (name_end == std::string::npos) return 0;
  const std::vector<std::string> fields =
      absl::StrSplit(stat.substr(name_end + 2), ' ');
  uint64_t start = 0;
  if (fields.size() <= kStartField || fields[0] == "Z" ||
      !absl::SimpleAtoi(fields[kStartField], &start)) {
    return 0;
  }
  return start;
}

// The first that is there.
std::string FirstProgram(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(path, error);
    if (!error && ::access(whole.c_str(), X_OK) == 0) return whole.string();
  }
  return "";
}

// Runs a program to its end, in silence.
void RunQuietly(const std::vector<std::string>& words,
                const std::string& environment) {
  absl::StatusOr<HeldProcess> process =
      StartDetached(words, environment, "/dev/null");
  if (!process.ok()) return;
  process->Go();
  ::waitpid(process->pid(), nullptr, 0);
}

}  // namespace

absl::StatusOr<DaemonPlaces> FindPlaces(const std::string& state_dir) {
  DaemonPlaces places;
  places.state_dir = state_dir.empty() ? OwnStateDirectory() : state_dir;
  if (places.state_dir.empty()) {
    return absl::FailedPreconditionError(
        "there is no place for a daemon of yours: neither XDG_RUNTIME_DIR nor "
        "HOME is set; give one by --state-dir");
  }
  if (places.state_dir.front() != '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("--state-dir '", VisibleText(state_dir),
                     "': write the whole path, from / on"));
  }
  while (places.state_dir.size() > 1 && places.state_dir.back() == '/') {
    places.state_dir.pop_back();
  }
  places.address = absl::StrCat("unix:", places.state_dir, "/sandglass.sock");
  places.up_dir = places.state_dir + "-up";
  places.log = places.up_dir + kLog;
  return places;
}

absl::StatusOr<DaemonPrograms> FindPrograms() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const std::string here = error ? "/usr/bin" : self.parent_path().string();
  DaemonPrograms programs;
  programs.daemon =
      FirstProgram({here + "/sandglassd", here + "/../sbin/sandglassd",
                    "/usr/local/sbin/sandglassd", "/usr/sbin/sandglassd"});
  programs.rootless =
      FirstProgram({here + "/../libexec/sandglass/sandglass-rootless",
                    here + "/../../deploy/rootless.sh",
                    "/usr/libexec/sandglass/sandglass-rootless"});
  if (!programs.daemon.empty()) return programs;
  return absl::NotFoundError(absl::StrCat(
      "there is no sandglassd, neither beside ", here,
      "/sandglass nor in /usr/sbin; install the package or the bundle, or "
      "build it: cmake --preset release && cmake --build build"));
}

absl::StatusOr<DaemonProcess> DaemonProcess::Open(pid_t pid) {
  const uint64_t start = StartOf(pid);
  if (start != 0) return DaemonProcess(pid, start);
  return absl::FailedPreconditionError(
      absl::StrCat("there is no process ", pid));
}

absl::StatusOr<DaemonProcess> DaemonProcess::Recorded(
    const DaemonPlaces& places) {
  const std::vector<std::string> words =
      absl::StrSplit(ReadAll(places.up_dir + kRecord), ' ');
  pid_t pid = 0;
  uint64_t start = 0;
  if (words.size() != 2 || !absl::SimpleAtoi(words[0], &pid) || pid <= 0 ||
      !absl::SimpleAtoi(words[1], &start)) {
    return absl::NotFoundError(absl::StrCat(
        "`sandglass up` has started no daemon in ", places.state_dir));
  }
  absl::StatusOr<DaemonProcess> process = Open(pid);
  if (!process.ok() || process->start_ != start) {
    return absl::NotFoundError(
        absl::StrCat("the daemon that `sandglass up` started in ",
                     places.state_dir, ", process ", pid, ", has ended"));
  }
  return process;
}

absl::Status DaemonProcess::Record(const DaemonPlaces& places) const {
  const std::string path = places.up_dir + kRecord;
  std::ofstream file(path, std::ios::trunc);
  file << absl::StrCat(pid_, " ", start_) << std::flush;
  return file.good() ? absl::OkStatus()
                     : absl::InternalError(absl::StrCat("can't write ", path,
                                                        ": ", Words(errno)));
}

absl::Status DaemonProcess::Signal(int signal) const {
  if (StartOf(pid_) != start_ || ::kill(pid_, signal) == 0 || errno == ESRCH) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "can't signal the daemon, process ", pid_, ": ", Words(errno)));
}

bool DaemonProcess::WaitForEnd(absl::Duration timeout) const {
  const absl::Time end = absl::Now() + timeout;
  while (StartOf(pid_) == start_) {
    if (absl::Now() >= end) return false;
    absl::SleepFor(kBeat);
  }
  return true;
}

void HeldProcess::Go() {
  // Where it has ended meanwhile, its exit code says so.
  (void)::send(gate_.get(), "\n", 1, MSG_NOSIGNAL);
  gate_ = UniqueFd();
}

absl::StatusOr<HeldProcess> StartDetached(const std::vector<std::string>& words,
                                          const std::string& environment,
                                          const std::string& log) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return absl::InternalError(
        absl::StrCat("can't make a socket: ", Words(errno)));
  }
  UniqueFd gate(ends[0]);
  const UniqueFd waits(ends[1]);
  std::vector<char*> argv;
  // The number of a process stays the same when it becomes another program.
  for (const char* word : {kShell, "-c", kWaitsAndBecomes, "sandglass-up"}) {
    argv.push_back(const_cast<char*>(word));
  }
  for (const std::string& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  std::vector<char*> envp;
  // Of two of a name programs take one or the other.
  const std::string name = environment.substr(0, environment.find('=') + 1);
  for (char** each = environ; *each != nullptr; ++each) {
    if (name.empty() || !absl::StartsWith(*each, name)) envp.push_back(*each);
  }
  if (!environment.empty()) {
    envp.push_back(const_cast<char*>(environment.c_str()));
  }
  envp.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                   0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(),
                                   O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW,
                                   0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&files, waits.get(), kGate);
  posix_spawn_file_actions_addclosefrom_np(&files, kGate + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, kShell, &files, &attributes,
                                  argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return HeldProcess(pid, std::move(gate));
  return absl::InternalError(
      absl::StrCat("can't start ", kShell, ": ", Words(error)));
}

absl::Status EndDaemon(const DaemonProcess& process,
                       const DaemonPlaces& places) {
  bool ended = process.WaitForEnd(absl::ZeroDuration());
  // A second signal of the same sort ends runs, too.
  for (const auto& [signal, wait] : {std::pair(SIGTERM, kFirstWait),
                                     {SIGTERM, kEndWait},
                                     {SIGKILL, kEndWait}}) {
    if (ended) break;
    absl::Status signalled = process.Signal(signal);
    if (!signalled.ok()) return signalled;
    ended = process.WaitForEnd(wait);
  }
  if (!ended) {
    return absl::DeadlineExceededError(
        absl::StrCat("the daemon, process ", process.pid(),
                     ", doesn't end although it was killed"));
  }
  ::waitpid(process.pid(), nullptr, WNOHANG);
  return RemoveRemains(places);
}

absl::Status RemoveRemains(const DaemonPlaces& places) {
  const absl::StatusOr<DaemonPrograms> programs = FindPrograms();
  if (!programs.ok()) return programs.status();
  const bool as_root = ::geteuid() == 0;
  RunQuietly({as_root ? programs->daemon : programs->rootless, "--sweep-all",
              "--state-dir", places.state_dir},
             absl::StrCat("SANDGLASSD=", programs->daemon));
  std::error_code error;
  fs::remove(places.log, error);
  fs::remove(places.up_dir + kRecord, error);
  fs::remove(places.up_dir, error);
  return error ? absl::InternalError(absl::StrCat(
                     "can't remove ", places.up_dir, ": ", error.message()))
               : absl::OkStatus();
}

std::string LastLines(const std::string& path, uint32_t lines) {
  std::string text = ReadAll(path);
  if (lines == 0 || text.empty()) return "";
  // The last line's own end isn't one between two.
  size_t end = text.size() - 1;
  for (uint32_t left = lines; end > 0; --left) {
    const size_t before = text.rfind('\n', end - 1);
    if (before == std::string::npos) break;
    if (left == 1) return text.substr(before + 1);
    end = before;
  }
  return text;
}

}  // namespace sandglass::client
