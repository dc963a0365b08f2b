#ifndef SANDGLASS_SANDBOX_SPAWNER_SPAWNER_H_
#define SANDGLASS_SANDBOX_SPAWNER_SPAWNER_H_

#include <sys/types.h>

#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "internal/spawner.pb.h"
#include "sandbox/jailed/plan.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/process.h"
#include "sandbox/spawner/jail_cgroup.h"
#include "sandbox/spawner/retry.h"
#include "sandbox/spawner/zygote_keeper.h"
#include "sandbox/wire/template_book.h"

namespace sandglass::sandbox {

// PID 1 of a yard: makes jails on request, reaps their inits, removes what they
// leave. Single-threaded; the request path comes first, spares are made and
// dead jails are cleaned up when nothing waits.
class Spawner {
 public:
  Spawner(internal::SpawnerConfig config, os::Fd channel, CgroupRoots roots,
          os::Fd template_ledger);

  // Serves until the daemon closes the channel (then OK) or something breaks
  // that jails must not outlive.
  absl::Status Run();

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // Two uids of the yard's slice that one live jail owns.
  struct UidSlot {
    uid_t init;
    uid_t code;
  };
  // What is made ahead: a group that already belongs to a pair of uids.
  struct SpareGroup {
    UidSlot slot;
    JailCgroup cgroup;
  };
  struct LiveJail {
    uint64_t id = 0;  // 0: a spare, nobody's yet
    UidSlot slot;
    JailCgroup cgroup;
    // Until they are handed out.
    os::Fd pidfd;
    os::Fd control;
    os::Fd netlink_sockets;
    os::Fd netns;
    std::vector<os::Fd> doors;  // see MakeJailDoors
    // Init's end of `control`: the ends of runners are told there, and init's
    // own; when the daemon lets go of the jail shows there.
    os::Fd init_end;
    // When stock was first taken of it after that; 0: it wasn't.
    int64_t ending_since_ns = 0;
    // Steps so far, the spawner's and a spare's init's.
    google::protobuf::RepeatedPtrField<internal::StepTime> steps;
  };
  struct DeadJail {
    uint64_t id;
    UidSlot slot;
    JailCgroup cgroup;
    os::Fd init_end;
    int64_t since_ns = os::MonotonicNanos();  // of its init's end
    int64_t retry_at_ns = 0;
  };

  // True while somebody has the other end of a jail's control socket.
  static bool IsHeld(const os::Fd& init_end);
  absl::Status Prepare();
  absl::Status ServeOnce();
  absl::Status TakeRequest();
  absl::Status CreateJail(const internal::CreateJail& request);
  // Answers requests for jails with runners, as far as raised jails are there.
  absl::Status ServeWaiting();
  // Has the zygote put a runner into a jail that was just handed out; the
  // daemon's end of the runner's socket goes into the reply.
  bool OrderRunner(pid_t init, const internal::CreateJail& request,
                   internal::JailCreated& reply, std::vector<int>& fds,
                   os::Fd& socket);
  void TakeFillReplies();
  void TellExit(pid_t init, int wait_status);
  absl::Status AnswerCreate(pid_t init, bool given,
                            const internal::SpawnerEvent& event,
                            const std::vector<int>& fds);
  // Clones an init that raises a jail for `slots` and then waits; its pid, or
  // -1 when a step failed (then clock.current() and errno say which).
  pid_t RaiseJail(const internal::JailSlots& slots, StepClock& clock);
  // Gives a jail to a request: slots to init, limits to its groups, descriptors
  // to the reply. False with errno when init or a limit failed; the jail is
  // then on its way out.
  bool HandOut(pid_t init, const internal::CreateJail& request,
               StepClock& clock, internal::JailCreated& reply,
               std::vector<int>& fds);
  // Makes the jail's doors to the egress proxy; false with errno.
  bool OpenDoors(const internal::NetworkRules& rules, LiveJail& jail);
  // The next spare that lives and can be given these slots, or -1.
  pid_t TakeSpare(const internal::JailSlots& slots);
  // The one in the making, if it can, or -1.
  pid_t TakeRaising(const internal::JailSlots& slots);
  // Spares have the host's image, or the zygote's.
  bool IsSpareable(const internal::JailSlots& slots) const;
  void NoteLikely(const internal::JailSlots& slots);
  bool BeginSpare();
  // Takes what the init of the spare in the making has to say.
  void TakeRaised();
  void SpareFailed(absl::string_view why);
  // True while a request's own hand-overs would have to share the processors
  // with chores that can wait.
  bool KeepCalm() const;
  bool MapUids(pid_t init, const UidSlot& slot);
  void Reap();
  // Does one piece of work that nobody waits for; false when there is none.
  bool DoChore();
  bool RemoveOneDead();
  // Each makes one part of jails to come, and notes how that went. False with
  // errno.
  bool MakeSpareGroup();
  bool MakeSpareNetns();
  bool LacksGroups() const;
  bool LacksNetns() const;
  void NoteMade(Retry& retry);
  void NoteFailed(Retry& retry, absl::string_view why);
  // Removes groups of jails that belong to none, some at a time: what a step
  // that failed could not undo. Passes over those that somebody is in. True
  // when there may be more.
  bool SweepStrays();
  // Of live, dead and spare ones; sorted.
  std::vector<absl::string_view> KnownGroups() const;
  // Answers TakeStock.
  absl::Status TellStock();
  // Directories of jails on the v2 hierarchy.
  void CountGroups();
  absl::Status Send(const internal::SpawnerEvent& event,
                    const std::vector<int>& fds);
  // Milliseconds until a chore that failed is tried again, for poll(2).
  int WaitForChore() const;

  internal::SpawnerConfig config_;
  TemplateBook templates_;
  os::Fd channel_;
  CgroupRoots roots_;
  os::Fd home_netns_;
  os::Fd children_;  // signalfd
  std::vector<std::string> masked_files_;
  std::vector<std::string> masked_directories_;
  std::deque<UidSlot> free_slots_;
  std::deque<os::Fd> spare_netns_;
  std::deque<SpareGroup> spare_groups_;
  std::map<pid_t, LiveJail> live_;
  std::deque<pid_t> spares_;  // of live_, the oldest first
  pid_t raising_ = -1;        // of live_, the spare in the making
  // What spares are raised for: the slots of the latest request.
  internal::JailSlots likely_slots_;
  std::deque<DeadJail> dead_;
  std::optional<ZygoteKeeper> zygote_;
  std::deque<internal::CreateJail> waiting_;  // for a jail with a runner
  std::map<pid_t, pid_t> runners_;            // and the init of its jail
  // Of runners whose pid the zygote has not told yet.
  std::map<pid_t, int> early_exits_;
  uint64_t serial_ = 0;
  // When groups that belong to no jail are looked for; never unless there may
  // be some.
  int64_t sweep_at_ns_ = kNever;
  Retry groups_retry_, netns_retry_;
  Retry spares_retry_;  // only counts; the pause is spare_retry_at_ns_
  int64_t spare_retry_at_ns_ = 0;
  int64_t last_hand_out_ns_ = 0;
  // When an answer to TakeStock has to be on its way; 0: nobody has asked.
  int64_t stock_due_ns_ = 0;
  // As it was last told: what can't be counted stays.
  internal::YardStock stock_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_SPAWNER_H_
