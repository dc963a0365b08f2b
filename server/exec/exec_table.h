#ifndef SANDGLASS_SERVER_EXEC_EXEC_TABLE_H_
#define SANDGLASS_SERVER_EXEC_EXEC_TABLE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandbox/os/fd.h"
#include "sandglass/v1/exec.pb.h"
#include "server/audit/audit_trail.h"
#include "server/base/call_threads.h"
#include "server/base/event_loop.h"
#include "server/base/shares.h"
#include "server/exec/exec.h"
#include "server/exec/exec_audit.h"
#include "server/exec/exec_request.h"
#include "server/identity/caller.h"
#include "server/live_policy/live_policy.h"
#include "server/session/session_table.h"

namespace sandglass::server {

struct ExecTableParts {
  const LivePolicy* policy = nullptr;
  SessionTable* sessions = nullptr;
  CallThreads* threads = nullptr;
  AuditTrail* audit = nullptr;  // null: nothing is put on record
  // Hears of each command that has ended, whose session's owner it was and in
  // which language; may be empty. On the loop's thread: it never waits.
  std::function<void(const Caller&, const std::string& language,
                     const v1::ExecEnd&)>
      on_end;
  // An error while no command may start in jails of that profile; absent: any
  // time.
  std::function<absl::Status(const policy::Profile&)> may_run;
  // Commands that run at once, in all sessions; each takes ten descriptors. The
  // last quarter is for callers of which few run: see Shares.
  uint32_t max_running = 1024;
};

// The commands of all sessions. What isn't marked otherwise is for the loop's
// thread only.
class ExecTable {
 public:
  // What `parts` points to outlives the table, but sessions end before it.
  explicit ExecTable(const ExecTableParts& parts);
  ~ExecTable();
  ExecTable(const ExecTable&) = delete;
  ExecTable& operator=(const ExecTable&) = delete;

  // Call once. The loops' threads start.
  absl::Status Start();
  EventLoop& loop() { return loop_; }

  // On any thread from here on.

  using TakeSaved = std::function<void(const ExecSaved&)>;
  // A command that may be started: its session is awake, in use and has a jail.
  struct Ready {
    ExecPlan plan;
    SessionUse use;
    std::shared_ptr<ExecRecord> record;  // null without an audit log
  };
  using TakeReady = std::function<void(absl::StatusOr<Ready>)>;
  // Checks and gets it ready; `then` is called on the loop's thread. Never
  // waits. Fields in errors begin with `prefix`.
  void Prepare(const Caller& caller, const v1::ExecSpec& spec,
               const std::string& prefix, TakeReady then);
  // A session that lives.
  absl::StatusOr<std::shared_ptr<Session>> Find(const Caller& caller,
                                                const std::string& session_id);

  void StopAccepting() { accepting_ = false; }
  uint32_t running() const { return running_; }
  // True when no command runs that has an end to be waited for.
  bool idle() const { return finite_ == 0; }
  void KillAll();
  // The same, and waits until they have ended, or until `timeout`.
  void Shutdown(absl::Duration timeout);

  // On the loop's thread from here on.

  struct Begun {
    std::shared_ptr<Exec> exec;
    bool joined = false;
  };
  // Begins the command, or joins the one that has its id and is the same.
  // ALREADY_EXISTS when it is another. RESOURCE_EXHAUSTED: too many run.
  absl::StatusOr<Begun> Begin(Ready ready);
  // NOT_FOUND.
  absl::StatusOr<std::shared_ptr<Exec>> Find(const std::string& session_id,
                                             const std::string& exec_id);
  // Newest first.
  std::vector<std::shared_ptr<Exec>> List(const std::string& session_id);
  // Whether there is room for so much input that waits, in a session of that
  // caller.
  absl::Status CheckStdinRoom(const Caller& owner, size_t bytes);

 private:
  // Of the sessions of one caller: what its commands hold of what is for all.
  struct Owner {
    Owner(KeptBytes& all_kept, KeptBytes& all_stdin)
        : kept(&all_kept), stdin_waiting(&all_stdin) {}
    KeptBytes kept;
    KeptBytes stdin_waiting;
  };
  // Of one session.
  struct Commands {
    explicit Commands(std::shared_ptr<Owner> of);
    std::shared_ptr<Owner> owner;
    std::shared_ptr<KeptBytes> kept;
    ProcessHost* host = nullptr;
    os::Fd news;  // of the jail that its last command was started in
    uint64_t watch = 0;
    uint64_t uncharged_timer = 0;
    std::map<uint64_t, std::shared_ptr<Exec>> by_number;
    std::map<std::string, uint64_t> by_id;
    std::deque<uint64_t> ended;  // oldest first
    uint32_t running = 0;
    bool session_over = false;
  };

  // Whether the session's profile and the audit log let it be started. A
  // command that the profile forbids is put on record.
  absl::Status MayStart(const Session& session, const ExecRecord* record) const;
  void GetJail(const std::shared_ptr<Ready>& ready, const TakeReady& then);
  absl::StatusOr<Commands*> CommandsOf(const std::shared_ptr<Session>& session);
  ExecSurroundings SurroundingsOf(const std::string& session_id,
                                  Commands& commands,
                                  const std::shared_ptr<ExecRecord>& record);
  std::string NewId(const Commands& commands) const;
  void TakeNews(const std::string& session_id, uint64_t number,
                ProcessNews& news);
  void WatchJail(const std::string& session_id, Commands& commands);
  void ForgetJail(Commands& commands);
  void BeforeEnd(const std::string& session_id,
                 const std::shared_ptr<Exec>& exec,
                 const std::shared_ptr<ExecRecord>& record, TakeSaved done);
  void NoteOver(const std::string& session_id, Exec& exec);
  void NoteSessionEnd(const std::string& session_id, policy::KillReason reason);
  void MakeRoom(Commands& commands);
  static void DropOldestEnded(Commands& commands);
  std::shared_ptr<Owner> OwnerOf(const Caller& caller);
  // What its processes hold of uncharged memory, after a while. It is looked at
  // by another thread: a long list takes long to read.
  void LookAtUnchargedIn(absl::Duration wait, const std::string& session_id,
                         Commands& commands);
  void NoteUncharged(const std::string& session_id,
                     const policy::UnchargedMemory& memory,
                     absl::Duration took);
  void KillThose(const std::string& session_id, policy::KillReason reason,
                 uint64_t measured);

  const ExecTableParts parts_;
  std::atomic<bool> accepting_ = true;
  std::atomic<uint32_t> running_ = 0;
  std::atomic<uint32_t> finite_ = 0;

  // The loop's own.
  KeptBytes kept_;
  KeptBytes stdin_waiting_;
  Shares running_shares_;
  std::map<std::string, std::weak_ptr<Owner>> owners_;  // by caller
  std::map<std::string, Commands> sessions_;
  uint64_t next_number_ = 1;

  // ORDER: the loops end before what they work on.
  EventLoop loop_;
  EventLoop uncharged_loop_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EXEC_EXEC_TABLE_H_
