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
#include "internal/spawner.pb.h"
#include "sandbox/jailed/plan.h"
#include "sandbox/os/fd.h"
#include "sandbox/os/process.h"
#include "sandbox/spawner/jail_cgroup.h"
#include "sandbox/spawner/retry.h"
#include "sandbox/spawner/zygote_keeper.h"
#include "sandbox/wire/step_clock.h"
#include "sandbox/wire/template_book.h"

namespace sandglass::sandbox {

// PID 1 of a yard: makes jails on request, reaps their inits and removes what
// they leave. Single-threaded; requests come first, and spares are made and
// dead jails cleaned up when nobody waits.
class Spawner {
 public:
  Spawner(internal::SpawnerConfig config, os::Fd channel, CgroupRoots roots,
          os::Fd template_ledger);

  // Serves until the daemon closes the channel (then OK) or until something
  // breaks that jails must not outlive.
  absl::Status Run();

 private:
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  // The two uids of the yard's slice that belong to one live jail.
  struct UidSlot {
    uid_t init;
    uid_t code;
  };
  // A part of a jail that is made ahead: groups that already belong to a pair
  // of uids.
  struct SpareGroup {
    UidSlot slot;
    JailCgroup cgroup;
  };
  struct LiveJail {
    uint64_t id = 0;  // 0: a spare that wasn't handed out yet
    UidSlot slot;
    JailCgroup cgroup;
    os::Fd netns;
    // Empty after the jail was handed out.
    os::Fd pidfd;
    os::Fd control;
    os::Fd netlink_sockets;
    std::vector<os::Fd> doors;  // see MakeJailDoors
    // Init's end of `control`. Through it the spawner reports the ends of
    // runners and of init, and on it it sees when the daemon lets go of the
    // jail.
    os::Fd init_end;
    // When this was first seen while taking stock; 0: it wasn't seen yet.
    int64_t ending_since_ns = 0;
    // The steps so far: the spawner's, and those of a spare's init.
    google::protobuf::RepeatedPtrField<internal::StepTime> steps;
  };
  struct DeadJail {
    uint64_t id;
    UidSlot slot;
    JailCgroup cgroup;
    os::Fd init_end;
    os::Fd netns;
    int64_t since_ns = os::MonotonicNanos();  // when its init ended
    int64_t retry_at_ns = 0;
  };

  // True while another process holds the other end of a jail's control socket.
  static bool IsHeld(const os::Fd& init_end);
  absl::Status Prepare();
  absl::Status ServeOnce();
  absl::Status HandleRequest();
  // Says whether the zygote accepts orders, when that has changed.
  absl::Status ReportZygote();
  absl::Status CreateJail(const internal::CreateJail& request);
  // Answers requests for jails with runners, as far as raised jails exist.
  absl::Status ServeWaiting();
  // Has the zygote put a runner into a jail that was just handed out; the
  // daemon's end of the runner's socket is added to the reply.
  bool OrderRunner(pid_t init, const internal::CreateJail& request,
                   internal::JailCreated& reply, std::vector<int>& fds,
                   os::Fd& socket);
  void HandleFillReplies();
  void ReportExit(pid_t init, int wait_status);
  absl::Status AnswerCreate(pid_t init, bool given,
                            const internal::SpawnerEvent& event,
                            const std::vector<int>& fds);
  // Clones an init that raises a jail for `slots` and then waits. Returns its
  // pid, or -1 when a step failed (clock.current() and errno then say which and
  // why).
  pid_t RaiseJail(const internal::JailSlots& slots, StepClock& clock);
  // Gives a jail to a request: sends the slots to init, writes limits to its
  // groups and adds descriptors to the reply. Returns false and sets errno when
  // init or a limit failed; the jail is then about to end.
  bool HandOut(pid_t init, const internal::CreateJail& request,
               StepClock& clock, internal::JailCreated& reply,
               std::vector<int>& fds);
  // Makes the jail's doors to the egress proxy. Returns false and sets errno on
  // failure.
  bool OpenDoors(const internal::NetworkRules& rules, LiveJail& jail);
  // Returns the next spare that is alive and can be given these slots, or -1.
  pid_t PopSpare(const internal::JailSlots& slots);
  // Returns the oldest spare in the making that can be given these slots, or
  // -1.
  pid_t PopRaising(const internal::JailSlots& slots);
  // Whether a spare can serve this: spares have the host's image, or the
  // zygote's.
  bool IsSpareable(const internal::JailSlots& slots) const;
  void RecordLikely(const internal::JailSlots& slots);
  // Whether the inits that raise spares leave no processor for chores.
  bool RaisingIsEnough() const;
  // Begins to raise one more, if one is wanted.
  bool BeginSpare();
  // Reads what the init of a spare in the making reports.
  void HandleRaised(pid_t init);
  void SpareFailed(absl::string_view why);
  // True while chores that can wait would take processor time from a jail that
  // was just handed out.
  bool KeepCalm() const;
  bool MapUids(pid_t init, const UidSlot& slot);
  void Reap();
  // Does one chore, a piece of work that nobody waits for; false when there is
  // none.
  bool DoChore();
  bool RemoveOneDead();
  // Keeps the network namespace of a jail whose processes are all gone, if none
  // has used it.
  void KeepUnusedNetns(DeadJail& dead);
  // Each of these makes one part of future jails and records the result.
  // Returns false and sets errno on failure.
  bool MakeSpareGroup();
  bool MakeSpareNetns();
  bool LacksGroups() const;
  bool LacksNetns() const;
  void RecordSuccess(Retry& retry);
  void RecordFailure(Retry& retry, absl::string_view why);
  // Removes some groups of jails that belong to no jail, which a failed step
  // could not remove. Skips those that contain a process. True when there may
  // be more.
  bool SweepStrays();
  // The names of the groups of live, dead and spare jails, sorted.
  std::vector<absl::string_view> KnownGroups() const;
  // Answers TakeStock.
  absl::Status ReportStock();
  // Counts the directories of jails on the v2 hierarchy.
  void CountGroups();
  absl::Status Send(const internal::SpawnerEvent& event,
                    const std::vector<int>& fds);
  // How long poll(2) may wait until a chore has to be tried again, in
  // milliseconds.
  int WaitForChore() const;

  internal::SpawnerConfig config_;
  TemplateBook templates_;
  os::Fd channel_;
  CgroupRoots roots_;
  os::Fd home_netns_;
  os::Fd children_;  // signalfd
  std::vector<std::string> masked_files_;
  std::vector<std::string> masked_directories_;
  std::string cpuinfo_;
  std::deque<UidSlot> free_slots_;
  std::deque<os::Fd> spare_netns_;
  std::deque<SpareGroup> spare_groups_;
  std::map<pid_t, LiveJail> live_;
  std::deque<pid_t> spares_;  // keys of live_, the oldest first
  // Keys of live_: the spares in the making, the oldest first.
  std::deque<pid_t> raising_;
  // The slots for which spares are raised: those of the latest request.
  internal::JailSlots likely_slots_;
  std::deque<DeadJail> dead_;
  std::optional<ZygoteKeeper> zygote_;
  bool zygote_served_ = false;                // what was reported last
  std::deque<internal::CreateJail> waiting_;  // for jails with runners
  std::map<pid_t, pid_t> runners_;            // with the init of its jail
  // The wait statuses of processes that ended, in case they are runners whose
  // pids the zygote hasn't reported yet.
  std::map<pid_t, int> early_exits_;
  uint64_t serial_ = 0;
  // When to look for groups that belong to no jail; kNever unless there may be
  // some.
  int64_t sweep_at_ns_ = kNever;
  Retry groups_retry_, netns_retry_;
  Retry spares_retry_;  // only counts; see spare_retry_at_ns_
  int64_t spare_retry_at_ns_ = 0;
  int64_t last_hand_out_ns_ = 0;
  // When TakeStock has to be answered at the latest; 0: nobody has asked.
  int64_t stock_due_ns_ = 0;
  // The last answer: values that can't be counted keep their last number.
  internal::YardStock stock_;
};

}  // namespace sandglass::sandbox

#endif  // SANDGLASS_SANDBOX_SPAWNER_SPAWNER_H_
