#include "client/service/service_commands.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/base/exit_codes.h"
#include "client/base/file_io.h"
#include "client/base/json_text.h"
#include "client/base/unique_fd.h"
#include "client/connection/address.h"
#include "client/connection/daemon.h"
#include "client/connection/endpoint.h"
#include "client/service/local_daemon.h"
#include "client/service/up_text.h"
#include "client/terminal/interrupt_watcher.h"
#include "client/terminal/terminal_look.h"
#include "nlohmann/json.hpp"

namespace sandglass::client {
namespace {

constexpr absl::Duration kLook = absl::Milliseconds(50);
// How long to wait for another `up` or `down`.
constexpr absl::Duration kOthersWait = absl::Minutes(2);
constexpr uint32_t kLastWords = 15;
// The log may be in memory, below /run.
constexpr char kMostLogMib[] = "16";

// The name of the group of whoever called sudo, if it is called like the user,
// as accounts are usually made, and has no other members; else empty.
std::string OwnGroupOfSudoer() {
  uid_t uid = 0;
  if (!absl::SimpleAtoi(EnvironmentVariable("SUDO_UID"), &uid) || uid == 0) {
    return "";
  }
  passwd user = {};
  passwd* found_user = nullptr;
  std::vector<char> room(64 * 1024);
  getpwuid_r(uid, &user, room.data(), room.size(), &found_user);
  if (found_user == nullptr) return "";
  std::string name = user.pw_name;
  group entry = {};
  group* found = nullptr;
  getgrgid_r(user.pw_gid, &entry, room.data(), room.size(), &found);
  if (found == nullptr || name != entry.gr_name) return "";
  for (char** member = entry.gr_mem; *member != nullptr; ++member) {
    if (name != *member) return "";
  }
  return name;
}

// Nothing when no daemon answers there.
absl::StatusOr<v1::GetServerInfoResponse> Ask(const std::string& address) {
  const absl::StatusOr<Daemon> daemon = OpenDaemon(address);
  if (!daemon.ok()) return daemon.status();
  grpc::ClientContext context;
  SetQuickDeadline(context);
  v1::GetServerInfoResponse info;
  const grpc::Status status =
      daemon->stub->GetServerInfo(&context, v1::GetServerInfoRequest(), &info);
  if (!status.ok()) return absl::UnavailableError(status.error_message());
  return info;
}

int ShowAsJson(const v1::GetServerInfoResponse& info,
               const DaemonPlaces& places, bool started) {
  const absl::StatusOr<std::string> answer = JsonText(info);
  if (!answer.ok()) return Fail(answer.status());
  using Json = nlohmann::ordered_json;
  const Json json = {{"address", places.address},
                     {"log", places.log},
                     {"started", started},
                     {"info", Json::parse(*answer, nullptr, false)}};
  return PrintText(absl::StrCat(
      json.dump(-1, ' ', true, Json::error_handler_t::replace), "\n"));
}

int ShowEnd(const DownOptions& options, bool ended) {
  if (options.json) {
    return PrintText(ended ? "{\"ended\":true}\n" : "{\"ended\":false}\n");
  }
  return PrintText(ended ? "sandglassd is down\n" : "no daemon is up\n");
}

int Show(const v1::GetServerInfoResponse& info, const DaemonPlaces& places,
         const std::string& group) {
  UpWords words;
  words.address = places.address;
  words.users = ::geteuid() == 0 ? "root" : "you and root";
  if (!group.empty()) absl::StrAppend(&words.users, " and group ", group);
  words.program = "sandglass";
  // Another may be what the environment or the context in use means.
  const absl::StatusOr<Endpoint> usual = ResolveEndpoint(
      {}, static_cast<std::optional<std::string> (*)(const std::string&)>(
              EnvironmentVariable));
  words.is_usual = usual.ok() && usual->address == places.address;
  words.colours = MayColour(STDOUT_FILENO);
  return PrintText(UpText(info, words));
}

absl::Status MakeUpDirectory(const DaemonPlaces& places) {
  std::error_code error;
  std::filesystem::create_directories(
      std::filesystem::path(places.up_dir).parent_path(), error);
  if (!error && ::mkdir(places.up_dir.c_str(), 0700) != 0 && errno != EEXIST) {
    error.assign(errno, std::generic_category());
  }
  if (!error) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("can't make ", places.up_dir, ": ", error.message(),
                   "; give another place by --state-dir"));
}

// Locks the directory in which `up` keeps its own against another `up` or
// `down` at the same time, for which it waits. What is in it may be believed
// then. NOT_FOUND when it isn't there, or no longer.
absl::StatusOr<UniqueFd> LockUp(const DaemonPlaces& places,
                                absl::Duration wait) {
  UniqueFd lock(::open(places.up_dir.c_str(),
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!lock.valid() && errno == ENOENT) {
    return absl::NotFoundError(absl::StrCat("there is no ", places.up_dir));
  }
  struct stat info = {};
  if (!lock.valid() || ::fstat(lock.get(), &info) != 0 ||
      info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(places.up_dir,
                     " isn't yours; remove it, or give another "
                     "place by --state-dir"));
  }
  const absl::Time end = absl::Now() + wait;
  while (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (absl::Now() >= end) {
      return absl::FailedPreconditionError(
          absl::StrCat("another `sandglass up` or `down` is at work in ",
                       places.state_dir, "; wait for it"));
    }
    absl::SleepFor(kLook);
  }
  // The other one may have removed it meanwhile.
  struct stat now = {};
  if (::stat(places.up_dir.c_str(), &now) != 0 || now.st_ino != info.st_ino) {
    return absl::NotFoundError(absl::StrCat("there is no ", places.up_dir));
  }
  return lock;
}

absl::StatusOr<HeldProcess> Start(const UpOptions& options,
                                  const DaemonPlaces& places,
                                  const std::string& group) {
  const absl::StatusOr<DaemonPrograms> programs = FindPrograms();
  if (!programs.ok()) return programs.status();
  std::vector<std::string> words;
  if (::geteuid() == 0) {
    // Without a supervisor, which would keep root's rights.
    words = {programs->daemon};
  } else if (!programs->rootless.empty()) {
    words = {programs->rootless};
  } else {
    return absl::NotFoundError(
        absl::StrCat("there is no sandglass-rootless beside ", programs->daemon,
                     "; start it as root: sudo sandglass up"));
  }
  for (const std::string& word :
       {std::string("--state-dir"), places.state_dir, std::string("--listen"),
        places.address, std::string("--log-limit"), std::string(kMostLogMib)}) {
    words.push_back(word);
  }
  if (!group.empty()) {
    words.emplace_back("--socket-group");
    words.push_back(group);
  }
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  ::unlink(places.log.c_str());
  return StartDetached(words, absl::StrCat("SANDGLASSD=", programs->daemon),
                       places.log);
}

// Waits until the daemon that was started serves.
absl::StatusOr<v1::GetServerInfoResponse> Await(
    pid_t pid, const UpOptions& options, const DaemonPlaces& places,
    const InterruptWatcher& interrupts) {
  const absl::Time end = absl::Now() + options.wait;
  const WaitLine waiting("sandglassd starts");
  const auto last_words = [&] {
    return absl::StrCat("; its last words:\n",
                        LastLines(places.log, kLastWords));
  };
  while (absl::Now() < end) {
    if (interrupts.signal() != 0) return absl::CancelledError("interrupted");
    if (::waitpid(pid, nullptr, WNOHANG) == pid) {
      return absl::FailedPreconditionError(
          absl::StrCat("sandglassd could not start", last_words()));
    }
    absl::StatusOr<v1::GetServerInfoResponse> info = Ask(places.address);
    if (info.ok()) return info;
    absl::SleepFor(kLook);
  }
  return absl::DeadlineExceededError(
      absl::StrCat("sandglassd doesn't serve after ",
                   absl::FormatDuration(options.wait), last_words()));
}

}  // namespace

int UpCommand(const UpOptions& options) {
  const absl::StatusOr<std::unique_ptr<InterruptWatcher>> interrupts =
      InterruptWatcher::Start();
  if (!interrupts.ok()) return Fail(interrupts.status());
  const absl::StatusOr<DaemonPlaces> places = FindPlaces(options.state_dir);
  if (!places.ok()) return Fail(places.status());
  const std::string group = !options.group.empty() ? options.group
                            : ::geteuid() == 0     ? OwnGroupOfSudoer()
                                                   : "";
  // Its exit code, where one serves already.
  const auto show_if_up = [&]() -> std::optional<int> {
    const absl::StatusOr<v1::GetServerInfoResponse> info = Ask(places->address);
    if (!info.ok()) return std::nullopt;
    if (options.json) return ShowAsJson(*info, *places, /*started=*/false);
    WriteAll(STDERR_FILENO,
             "sandglass: it is up already; to start it anew: sandglass down\n");
    return Show(*info, *places, "");
  };
  if (const std::optional<int> shown = show_if_up()) return *shown;
  absl::StatusOr<UniqueFd> lock = absl::NotFoundError("");
  while (absl::IsNotFound(lock.status())) {
    const absl::Status made = MakeUpDirectory(*places);
    if (!made.ok()) return Fail(made);
    lock = LockUp(*places, options.wait);
  }
  if (!lock.ok()) return Fail(lock.status());
  // By another one, for which this one has waited.
  if (const std::optional<int> shown = show_if_up()) return *shown;
  absl::StatusOr<HeldProcess> held = Start(options, *places, group);
  if (!held.ok()) return Fail(held.status());
  const absl::StatusOr<DaemonProcess> process =
      DaemonProcess::Open(held->pid());
  const absl::Status recorded =
      process.ok() ? process->Record(*places) : process.status();
  if (!recorded.ok()) {
    (void)RemoveRemains(*places);
    return Fail(recorded);
  }
  held->Go();
  const absl::StatusOr<v1::GetServerInfoResponse> info =
      Await(held->pid(), options, *places, **interrupts);
  if (info.ok()) {
    return options.json ? ShowAsJson(*info, *places, /*started=*/true)
                        : Show(*info, *places, group);
  }
  const int code = Fail(info.status());
  // Half of a daemon is of no use to anybody.
  if (!process->WaitForEnd(absl::ZeroDuration())) {
    (void)EndDaemon(*process, *places);
  } else {
    (void)RemoveRemains(*places);
  }
  return interrupts.value()->signal() != 0
             ? kExitSignalBase + interrupts.value()->signal()
             : code;
}

int DownCommand(const DownOptions& options) {
  const absl::StatusOr<DaemonPlaces> places = FindPlaces(options.state_dir);
  if (!places.ok()) return Fail(places.status());
  absl::StatusOr<UniqueFd> lock = LockUp(*places, kOthersWait);
  if (!lock.ok() && !absl::IsNotFound(lock.status())) {
    return Fail(lock.status());
  }
  absl::StatusOr<DaemonProcess> process = DaemonProcess::Recorded(*places);
  if (!lock.ok() || !process.ok()) {
    if (Ask(places->address).ok()) {
      return Fail(absl::FailedPreconditionError(absl::StrCat(
          "the daemon at ", places->address,
          " wasn't started by `sandglass up`; if it is the service: sudo "
          "systemctl stop sandglassd")));
    }
    // What a daemon left that was killed, or that ended by itself.
    const absl::Status removed =
        lock.ok() ? RemoveRemains(*places) : absl::OkStatus();
    return removed.ok() ? ShowEnd(options, false) : Fail(removed);
  }
  if (!options.now) {
    const absl::Status asked = process->Signal(SIGTERM);
    if (!asked.ok()) return Fail(asked);
    // For as long as its own drain_timeout lets it; another `down --now` need
    // not wait for this one.
    *lock = UniqueFd();
    {
      const WaitLine waiting("waiting for runs to end; down --now doesn't");
      while (!process->WaitForEnd(kLook)) continue;
    }
    lock = LockUp(*places, kOthersWait);
    // Another one has tidied up, or started a daemon in its place.
    if (absl::IsNotFound(lock.status()) ||
        DaemonProcess::Recorded(*places).ok()) {
      return ShowEnd(options, true);
    }
    if (!lock.ok()) return Fail(lock.status());
  }
  const absl::Status ended = EndDaemon(*process, *places);
  return ended.ok() ? ShowEnd(options, true) : Fail(ended);
}

int LogsCommand(const LogsOptions& options) {
  const absl::StatusOr<DaemonPlaces> places = FindPlaces(options.state_dir);
  if (!places.ok()) return Fail(places.status());
  const UniqueFd file(::open(places->log.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) {
    return Fail(absl::NotFoundError(absl::StrCat(
        "there is no log of a daemon that `sandglass up` started (",
        places->log, "); that of the service: journalctl -u sandglassd")));
  }
  if (options.follow) {
    // tail does that well, on all file systems.
    const std::string lines = absl::StrCat(options.lines);
    ::execlp("tail", "tail", "-n", lines.c_str(), "-F", places->log.c_str(),
             nullptr);
    return Fail(absl::InternalError("can't start tail"));
  }
  return PrintText(LastLines(places->log, options.lines));
}

int ServiceCommand(const ServiceOptions& options) {
  if (const auto* up = std::get_if<UpOptions>(&options)) return UpCommand(*up);
  if (const auto* down = std::get_if<DownOptions>(&options)) {
    return DownCommand(*down);
  }
  return LogsCommand(std::get<LogsOptions>(options));
}

}  // namespace sandglass::client
