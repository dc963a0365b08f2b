// A yard and its jails whose far ends are in a test's hands: it plays a spawner
// that behaves, and inits or runners that were taken over. Only descriptors are
// real: sockets, pipes, and plain files in the place of counters.
#ifndef SANDGLASS_TESTS_SECURITY_PROTOCOL_PROTOCOL_JAIL_H_
#define SANDGLASS_TESTS_SECURITY_PROTOCOL_PROTOCOL_JAIL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "internal/spawner.pb.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/seqpacket.h"
#include "sandbox/wire/runner_protocol.h"
#include "sandbox/yard/sandbox.h"

namespace sandglass::server {

struct Pipe {
  os::Fd read, write;
};
// `flags` for pipe2(2), beside close-on-exec.
Pipe MakePipe(int flags = 0);

int64_t Nanos();

// What whoever took init or the runner over has. All of it ends when the daemon
// kills the jail, as it does when the kernel kills init.
class FarEnd {
 public:
  FarEnd(uint64_t id, bool with_runner, const std::string& directory);
  ~FarEnd();
  FarEnd(const FarEnd&) = delete;
  FarEnd& operator=(const FarEnd&) = delete;

  // The reply that gives the near end away, and its descriptors.
  internal::SpawnerEvent Created(std::vector<int>& fds);
  void ForgetNearEnd();

  // On init's socket, and on the runner's. False once the daemon has killed the
  // jail or closed its end.
  bool Send(const internal::InitEvent& event, const std::vector<int>& fds = {});
  bool SendBytes(const std::string& data, const std::vector<int>& fds = {});
  bool SendAsRunner(const std::string& data, const std::vector<int>& fds = {});

  // What an init that behaves says. Ready makes the pipes.
  bool Ready();
  bool Started() { return Started(Nanos()); }
  bool Started(int64_t monotonic_ns);
  bool Exited(int wait_status) { return Exited(wait_status, Nanos()); }
  bool Exited(int wait_status, int64_t monotonic_ns);
  bool File(const std::string& path, int problem, int fd = -1);
  bool CollectDone(bool truncated = false);
  // Ready, takes the request and says Started.
  bool ReadyAndStarted();
  // The next request; nullopt when the jail is killed or the socket closed.
  std::optional<internal::InitRequest> AwaitRequest();

  // Sleeps until the run, or the jail, was killed, at most a minute.
  void AwaitRunKill() const { AwaitTrue(run_killed_); }
  void AwaitJailKill() const { AwaitTrue(jail_killed_); }
  bool run_killed() const { return run_killed_; }
  bool jail_killed() const { return jail_killed_; }
  // Of those, by a word to the kill switch and not by closing it alone.
  bool kill_written() const { return kill_written_; }
  // Ends everything, for a test that has failed.
  void Abort() { run_killed_ = jail_killed_ = true; }

  os::Fd control, runner;
  Pipe in, out, err;  // the program keeps in.read, out.write and err.write
  std::string directory;

 private:
  bool SendOn(const os::Fd& socket, const std::string& data,
              const std::vector<int>& fds);
  void AwaitTrue(const std::atomic<bool>& flag) const;
  // Does what the kernel does when the kill switches are written to.
  void Kernel();
  void WriteEvents(bool populated);

  const uint64_t id_;
  os::Fd near_control_, near_runner_, near_kill_jail_, near_kill_run_;
  os::Fd kill_jail_, kill_run_, events_, groups_, oom_, pidfd_;
  std::atomic<bool> run_killed_{false}, jail_killed_{false}, over_{false};
  std::atomic<bool> kill_written_{false};
  std::thread kernel_;
};

using Attack = std::function<void(FarEnd&)>;

// Each jail's far end runs `attack` on a thread of its own.
class FakeYard {
 public:
  // `kind` of jails it makes: with runners unless it is sandbox::kExecKind.
  FakeYard(const std::string& kind, Attack attack);
  ~FakeYard();

  sandbox::Sandbox& sandbox() { return *sandbox_; }
  // Jails that were asked for, and those whose kill switch was written to.
  uint32_t made() const { return made_; }
  uint32_t killed() const { return killed_; }
  // The daemon hangs: lets it go.
  void Abort();

 private:
  void Spawn();

  const bool with_runner_;
  const Attack attack_;
  std::string directory_;
  os::Fd channel_;
  std::atomic<uint32_t> made_{0}, killed_{0};
  absl::Mutex mutex_;
  std::vector<std::weak_ptr<FarEnd>> ends_ ABSL_GUARDED_BY(mutex_);
  std::list<std::thread> inits_;  // the spawner's thread's
  std::thread spawner_;
  std::unique_ptr<sandbox::Sandbox> sandbox_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_TESTS_SECURITY_PROTOCOL_PROTOCOL_JAIL_H_
