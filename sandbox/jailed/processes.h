#ifndef SANDGLASS_SANDBOX_JAILED_PROCESSES_H_
#define SANDGLASS_SANDBOX_JAILED_PROCESSES_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

#include "internal/spawner.pb.h"
#include "sandbox/jailed/plan.h"
#include "sandbox/jailed/streams.h"
#include "sandbox/os/fd.h"

namespace sandglass::sandbox {

class CallTrace;

// The processes that init starts in addition to the jail's program. Each is in
// a group of its own below `run`, so that everything that it started can be
// killed with it, and the group is removed when the last process in it has
// ended.
class Processes {
 public:
  // Descriptors that go to the daemon with an event, in the order of the
  // event's roles.
  using Fds = std::vector<os::Fd>;

  // `limit_files` is that of ShowSubgroup.
  Processes(const JailPlan& plan, const os::Fd& limit_files)
      : plan_(plan), limit_files_(limit_files) {}

  // Starts a process and returns the event that answers the request. Starts it
  // through `trace` unless that is null. `report` is memory for a StartReport
  // that is shared with children.
  internal::InitEvent Spawn(const internal::Spawn& request,
                            absl::Span<const sock_filter> filter,
                            CallTrace* trace, void* report, Fds& fds);
  // Call for each child that was reaped. Returns true if it was one of these
  // processes, which then has ended; `process_id` says which one.
  bool Ended(pid_t pid, uint64_t& process_id);
  // Kill by pid rather than by control group: one of these processes with
  // everything that it started, or everything in the jail except init and the
  // file agent. Do nothing when these are gone.
  void Kill(uint64_t process_id);
  void KillAll();
  // Kills that process and everything in its group. It is no error if it has
  // ended or never existed.
  void End(uint64_t process_id) const;
  // Call after children were reaped: removes groups that have become empty, but
  // not at once, so that the daemon has time to read what they used.
  void RemoveEmptyGroups();

  // True once there may be a process of the sandboxed code.
  bool any() const { return any_; }

 private:
  struct Running {
    uint64_t process_id;
    uint64_t group;
  };
  // Both ends of one process's streams. Any of them may be empty.
  struct Ends {
    StreamPipe in, out, err, channel;
    os::Fd terminal, terminal_master;
  };

  // Makes the Landlock rules when the first process needs them. Returns false
  // and sets errno on failure.
  bool HaveRules();
  // Returns false and sets errno on failure.
  static bool MakeStreams(const internal::Spawn& request, Ends& ends);
  // Returns the group's directory; empty with errno set on failure.
  os::Fd MakeGroup(uint64_t group) const;
  void KillGroup(uint64_t group) const;
  // Moves the daemon's ends to `fds`. Returns false and sets errno on failure.
  static bool GiveEnds(Ends& ends, const os::Fd& group,
                       internal::Spawned& event, Fds& fds);

  const JailPlan& plan_;
  const os::Fd& limit_files_;
  // The program's rules without scopes: each process enters a Landlock domain
  // of its own, and they shall be able to signal each other. The jail's
  // namespaces keep everything else out of reach.
  os::Fd landlock_ruleset_;
  std::map<pid_t, Running> running_;
  struct EndedGroup {
    uint64_t process_id;  // 0: of a process that never ran
    uint64_t group;
    int64_t ended_ns;
  };
  std::vector<EndedGroup> ended_groups_;  // which may still contain processes
  uint64_t last_group_ = 0;
  bool any_ = false;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_PROCESSES_H_
