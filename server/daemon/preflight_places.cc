#include "server/daemon/preflight_places.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/files.h"
#include "server/base/state_dir.h"
#include "server/base/strings.h"
#include "server/base/tcp_socket.h"
#include "server/base/unix_socket.h"
#include "server/ops/readiness_watch.h"

namespace sandglass::server {
namespace {

absl::Status Wrong(const std::string& setting, const std::string& what) {
  return absl::FailedPreconditionError(absl::StrCat(setting, ": ", what));
}

std::string Parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : path.substr(0, slash);
}

// Checks that a directory is there, or could be made, and can be written to.
absl::Status CheckDirectory(const std::string& setting,
                            const std::string& directory, uid_t daemon) {
  std::string at = directory;
  struct stat info = {};
  while (::stat(at.c_str(), &info) != 0) {
    if (errno != ENOENT || at == "/") {
      return Wrong(setting,
                   absl::StrCat("can't look at ", at, ": ", ErrorText(errno)));
    }
    at = Parent(at);
  }
  if (!S_ISDIR(info.st_mode)) {
    return Wrong(setting, absl::StrCat(at, " is no directory"));
  }
  const os::Fd found(::open(at.c_str(), O_PATH | O_CLOEXEC));
  if (os::IsKernelFileSystem(found.get())) {
    return Wrong(setting, absl::StrCat(at, " is no place for files"));
  }
  if (::access(at.c_str(), W_OK) != 0) {
    return Wrong(setting,
                 absl::StrCat("can't write to ", at, ": ", ErrorText(errno)));
  }
  if (absl::Status own = CheckNobodyElses(setting, at, daemon); !own.ok()) {
    return own;
  }
  const absl::Status room = CheckRoom({at});
  return room.ok() ? room : Wrong(setting, std::string(room.message()));
}

absl::Status UsedByAnother(const Config& config) {
  return Wrong(
      "state_dir",
      absl::StrCat("a sandglassd that doesn't listen on ",
                   config.listen.ToString(), " uses ", config.state_dir,
                   "; stop it, or give this one another"));
}

absl::Status CheckSocketPlace(const std::string& path, uid_t daemon) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) == 0 && !S_ISSOCK(info.st_mode)) {
    return Wrong("listen", absl::StrCat(path, " is there and is no socket"));
  }
  return CheckDirectory("listen", Parent(path), daemon);
}

}  // namespace

bool IsInUse(const std::string& state_dir) {
  const os::Fd lock(
      ::open(StateLock(state_dir).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return lock.valid() && ::flock(lock.get(), LOCK_SH | LOCK_NB) != 0 &&
         errno == EWOULDBLOCK;
}

absl::Status CheckPorts(const Config& config) {
  os::Fd held;
  if (!config.listen.tcp_address.empty()) {
    absl::StatusOr<os::Fd> port =
        ListenOnTcp("listen", config.listen.tcp_address);
    if (!port.ok()) return port.status();
    held = *std::move(port);
  }
  std::vector<os::Fd> also_held;
  for (const ListenAddress& address : config.listen_tls) {
    absl::StatusOr<os::Fd> port =
        ListenOnTcp("listen", address.tcp_address, Ipv4::kNot);
    if (!port.ok()) return port.status();
    also_held.push_back(*std::move(port));
  }
  if (config.metrics.listen.empty()) return absl::OkStatus();
  const absl::StatusOr<os::Fd> port =
      ListenOnTcp("metrics.listen", config.metrics.listen);
  if (port.ok() || !held.valid()) return port.status();
  held.reset();
  if (!ListenOnTcp("metrics.listen", config.metrics.listen).ok()) {
    return port.status();
  }
  return absl::UnavailableError(
      absl::StrCat("metrics.listen: ", config.metrics.listen,
                   " is the address of listen, too; name another port"));
}

std::vector<std::string> CheckPlaces(const Config& config, uid_t daemon) {
  std::vector<std::string> wrong;
  std::set<std::string> said;
  const auto note = [&](const absl::Status& status) {
    if (status.ok()) return;
    // Of directories that are within each other, only the first is reported.
    const std::string message(status.message());
    if (said.insert(message.substr(message.find(": "))).second) {
      wrong.push_back(message);
    }
  };
  for (const auto& [setting, directory] :
       {std::pair("state_dir", config.state_dir),
        std::pair("cache_dir", config.cache_dir),
        std::pair("libraries.dir", config.libraries.dir),
        std::pair("audit.dir", config.audit.dir),
        std::pair("identity.tokens_dir", config.identity.tokens_dir),
        std::pair("sessions.durable_dir", config.sessions.durable_dir)}) {
    if (!directory.empty()) note(CheckDirectory(setting, directory, daemon));
  }
  for (const auto& [setting, directory] :
       {std::pair("audit.dir", config.audit.dir),
        std::pair("identity.tokens_dir", config.identity.tokens_dir),
        std::pair("sessions.durable_dir", config.sessions.durable_dir)}) {
    if (!directory.empty()) {
      note(CheckHoldsNothingElse(setting, directory, daemon));
    }
  }
  const bool in_use = IsInUse(config.state_dir);
  if (config.listen.unix_path.empty()) {
    const absl::Status ports = CheckPorts(config);
    if (!in_use) note(ports);
    if (in_use && ports.ok()) note(UsedByAnother(config));
    return wrong;
  }
  note(CheckSocketPlace(config.listen.unix_path, daemon));
  const bool answers = Answers(config.listen.unix_path).value_or(false);
  if (in_use && !answers) note(UsedByAnother(config));
  if (in_use) return wrong;
  if (answers) {
    note(Wrong("listen", absl::StrCat("another server answers on ",
                                      config.listen.unix_path)));
  }
  note(CheckPorts(config));
  return wrong;
}

}  // namespace sandglass::server
