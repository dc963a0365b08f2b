#ifndef SANDGLASS_TESTS_SUPPORT_DAEMON_DAEMON_H_
#define SANDGLASS_TESTS_SUPPORT_DAEMON_DAEMON_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "tests/support/daemon/client.h"
#include "tests/support/host/process.h"

namespace sandglass::testing {

struct DaemonOptions {
  // Each language is tried at the start, which takes seconds of a processor.
  bool canaries = false;
  // Content of a file given as --config; none: no --config.
  std::optional<std::string> config;
  std::vector<std::string> extra_arguments;  // for example "--supervise"
  // Limits of time are Slowdown() times the shipped ones.
  bool slow_policy = false;
  // Of its own, from MakeCacheDirectory; empty: the one that all share.
  std::string cache_directory;
  // Takes over the directory (socket path, state) of an earlier daemon, which
  // must be dead.
  std::string directory;
  // A socket that listens where the daemon is to, which it gets as a service
  // manager would pass it; -1: none.
  int listener = -1;
  // In a mount namespace of its own, where its state directory is at this path,
  // which is there already, as a container has it.
  std::string state_seen_at;
  // It counts as started when this service is SERVING; "": all that it needs
  // works.
  std::string serving;
  // The first one of all prepares the languages.
  absl::Duration start_timeout = absl::Minutes(4);
};

// What a finished sandglassd must not leave on the host.
struct Leftovers {
  std::vector<std::string> all;  // one sentence each; empty is good
};

// The real sandglassd as a child of the test, in a directory of its own below
// /tmp. A keeper process ends the daemon when the test itself dies, so that a
// test killed by its time limit leaves none behind.
class Daemon {
 public:
  // Starts it and waits until it is SERVING and has prepared all languages.
  // Needs root. The error carries the
  // end of the daemon's log.
  static absl::StatusOr<std::unique_ptr<Daemon>> Start(
      const DaemonOptions& options = {});

  // Kills what still runs, without checks.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  pid_t pid() const { return process_.pid; }
  Process process() const { return process_; }
  const std::string& address() const { return address_; }
  const std::string& directory() const { return directory_; }
  const std::string& socket_path() const { return socket_path_; }
  // Valid until Stop.
  Client& client() { return *client_; }

  // The processes of the daemon now: itself, spawners, jails.
  std::vector<Process> Processes() const { return ProcessTree(process_.pid); }
  // Remembers the processes and cgroups that the daemon has now, so that they
  // are looked for after its end. Start and Stop call it themselves.
  void Remember();
  // Control groups seen so far that are the daemon's own.
  const std::vector<std::string>& groups() const { return groups_; }

  // Sends a signal to the daemon.
  void Signal(int signal) const { Kill(process_, signal); }
  // Waits for the daemon's end and returns its wait status; nothing when
  // `timeout` passes first. Once ended, the same answer again.
  std::optional<int> Wait(absl::Duration timeout);
  // SIGTERM, a bounded wait, exit code 0, no process left; then, after a sweep,
  // nothing at all.
  absl::Status Stop();
  // Runs `sandglassd --sweep` for this daemon's directory.
  absl::Status Sweep() const;
  // The wait status of a sandglassd with this option for the same directory.
  int Command(const char* option) const;
  // What is still there of a daemon that has ended, after waiting up to
  // `timeout` for it to go.
  Leftovers FindLeftovers(absl::Duration timeout, bool expect_no_groups = true);

  // The end of the daemon's output.
  std::string LogTail(size_t lines = 12) const;

 private:
  Daemon() = default;
  absl::Status Launch(const DaemonOptions& options);
  absl::Status StartKeeper();
  absl::Status WaitUntilServing(const DaemonOptions& options);
  Leftovers LookForLeftovers(bool expect_no_groups) const;

  std::string directory_;
  bool owns_directory_ = true;
  std::string socket_path_;
  std::string address_;
  std::string log_path_;
  Process process_;
  os::Fd keeper_pipe_;
  pid_t keeper_ = -1;
  std::optional<int> wait_status_;
  std::unique_ptr<Client> client_;
  std::vector<Process> seen_;
  std::vector<std::string> groups_;
};

// A new, empty directory below /tmp that others may enter: the daemon gives up
// its rights after its start.
std::string MakeTestDirectory();

// A new cache directory with all that is prepared already, for a daemon whose
// compile cache nobody else uses. The caller removes it.
std::string MakeCacheDirectory();

// The processes of a daemon's jails that belong to the run whose command line
// has `marker`; waits up to 10 s for the first to show up.
std::vector<Process> WaitForMarked(const Daemon& daemon,
                                   const std::string& marker);

// A text that no other process's command line has.
std::string MakeMarker();

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_DAEMON_DAEMON_H_
