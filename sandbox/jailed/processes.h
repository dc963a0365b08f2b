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

// The processes that init starts beside the jail's program: each in a group of
// its own below `run`, so that what one of them started can be killed whole,
// and gone with it when its last process is.
class Processes {
 public:
  // What goes to the daemon with an event, in the order of its roles.
  using Fds = std::vector<os::Fd>;

  explicit Processes(const JailPlan& plan) : plan_(plan) {}

  // The event that answers. By `trace` unless that is null. `report` is memory
  // for a StartReport, shared with children.
  internal::InitEvent Spawn(const internal::Spawn& request,
                            absl::Span<const sock_filter> filter,
                            CallTrace* trace, void* report, Fds& fds);
  // For each child that was reaped: true when it is one of these, which then
  // has ended; `process_id` says which.
  bool Ended(pid_t pid, uint64_t& process_id);
  // Kills by pid, not by control group: a process of these with what it
  // started, or all that run beside init and the file agent. Does nothing when
  // they are gone.
  void Kill(uint64_t process_id);
  void KillAll();
  // Kills that process with all that is in its group; one that has ended, or
  // that there never was, is no error.
  void End(uint64_t process_id) const;
  // After children were reaped: removes groups that nobody is in any more. The
  // daemon has a while to read what they used.
  void RemoveEmptyGroups();

  // True once there may be a process of the code's.
  bool any() const { return any_; }

 private:
  struct Running {
    uint64_t process_id;
    uint64_t group;
  };
  // The ends of one process's streams, all of which may be empty.
  struct Ends {
    StreamPipe in, out, err, channel;
    os::Fd terminal, terminal_master;
  };

  // Makes the rules when the first process wants them. False with errno.
  bool HaveRules();
  // False with errno.
  static bool MakeStreams(const internal::Spawn& request, Ends& ends);
  // The group's directory; empty with errno.
  os::Fd MakeGroup(uint64_t group) const;
  void KillGroup(uint64_t group) const;
  // Hands out the daemon's ends. False with errno.
  static bool GiveEnds(Ends& ends, const os::Fd& group,
                       internal::Spawned& event, Fds& fds);

  const JailPlan& plan_;
  // The program's without scopes: each process enters a domain of its own, and
  // they are to be able to signal each other. That others are out of reach the
  // jail's namespaces see to.
  os::Fd landlock_ruleset_;
  std::map<pid_t, Running> running_;
  struct EndedGroup {
    uint64_t process_id;  // 0: of one that never ran
    uint64_t group;
    int64_t ended_ns;
  };
  std::vector<EndedGroup> ended_groups_;  // where others may still be
  uint64_t last_group_ = 0;
  bool any_ = false;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_JAILED_PROCESSES_H_
