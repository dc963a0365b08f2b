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
#include "server/exec/command_watcher.h"
#include "server/exec/exec.h"
#include "server/exec/exec_audit.h"
#include "server/exec/exec_request.h"
#include "server/identity/identity.h"
#include "server/job/language_gate.h"
#include "server/live_policy/live_policy.h"
#include "server/run/run_dispatcher.h"
#include "server/session/session_table.h"

namespace sandglass::server {

// After which time to try again where there was no room for a command.
inline constexpr absl::Duration kRetryExecAfter = absl::Milliseconds(500);

struct ExecTableParts {
  const LivePolicy* policy = nullptr;
  SessionTable* sessions = nullptr;
  CallThreads* threads = nullptr;
  RunDispatcher* runs = nullptr;       // null: no budgets are kept
  AuditTrail* audit = nullptr;         // null when nothing is put on record
  CommandWatcher* watcher = nullptr;   // null: nobody hears of ends
  const LanguageGate* gate = nullptr;  // never null
  // The most commands that run at the same time, in all sessions; each takes
  // ten descriptors. The last quarter is for callers that have few running: see
  // Shares.
  uint32_t max_running = 1024;
};

// The commands of all sessions. Members that aren't marked otherwise are for
// the loop's thread only.
class ExecTable {
 public:
  // Whatever `parts` points to must outlive the table, but sessions end before
  // it.
  explicit ExecTable(const ExecTableParts& parts);
  ~ExecTable();
  ExecTable(const ExecTable&) = delete;
  ExecTable& operator=(const ExecTable&) = delete;

  // Starts the loops' threads. Call once.
  absl::Status Start();
  EventLoop& loop() { return loop_; }

  // The methods from here on may be called on any thread.

  // A command that is ready to be started: its session is awake, in use and has
  // a jail.
  struct Ready {
    ExecPlan plan;
    SessionUse use;
    std::shared_ptr<ExecRecord> record;  // null without an audit log
  };
  using ReadyHandler = std::function<void(absl::StatusOr<Ready>)>;
  // Checks a command and gets everything ready for it; then `then` is called on
  // the loop's thread. Never blocks. Fields that errors name begin with
  // `prefix`.
  void Prepare(const Identity& caller, const v1::ExecSpec& spec,
               const std::string& prefix, ReadyHandler then);
  // Finds a session that lives.
  absl::StatusOr<SharedSession> Find(const Identity& caller,
                                     const std::string& session_id);

  void StopAccepting() { accepting_ = false; }
  uint32_t running() const { return running_; }
  // True when no command runs for whose end one can wait.
  bool idle() const { return finite_ == 0; }
  void KillAll();
  // Does the same, and waits until the commands have ended, at most for
  // `timeout`.
  void Shutdown(absl::Duration timeout);

  // The methods from here on are for the loop's thread.

  struct Begun {
    SharedExec exec;
    bool joined = false;
  };
  // Begins the command, or joins the one that has the same id and is the same.
  // ALREADY_EXISTS when the one with that id is another. RESOURCE_EXHAUSTED:
  // too many run.
  absl::StatusOr<Begun> Begin(Ready ready);
  // NOT_FOUND when there is none.
  absl::StatusOr<SharedExec> Find(const std::string& session_id,
                                  const std::string& exec_id);
  // Newest first.
  std::vector<SharedExec> List(const std::string& session_id);
  // Checks whether there is room for that much more waiting input in a session
  // of that caller.
  absl::Status CheckStdinRoom(const Identity& owner, size_t bytes);

 private:
  // The commands of one session.
  struct Commands {
    // What the commands in all sessions of its owner hold of what all callers
    // share.
    std::shared_ptr<DiskBudget> kept_of_owner;
    std::shared_ptr<DiskBudget> stdin_of_owner;
    std::shared_ptr<KeptBytes> kept;
    JailProcesses* host = nullptr;
    os::Fd news;  // of the jail of its last command
    uint64_t watch = 0;
    uint64_t uncharged_timer = 0;
    std::map<uint64_t, SharedExec> by_number;
    std::map<std::string, SharedExec> by_id;
    std::deque<uint64_t> ended;  // oldest first
    uint32_t running = 0;
    bool session_over = false;
  };
  class Keeper;

  // Checks whether the session's profile and the audit log allow a start. A
  // command that the profile forbids is put on record.
  absl::Status MayStart(const Session& session, const ExecRecord* record) const;
  void GetJail(const std::shared_ptr<Ready>& ready, const ReadyHandler& then);
  absl::StatusOr<Commands*> CommandsOf(const SharedSession& session);
  ExecSurroundings SurroundingsOf(Commands& commands,
                                  const std::shared_ptr<ExecRecord>& record);
  // The steps of Begin.
  // RESOURCE_EXHAUSTED: there is no room for another command.
  absl::Status CheckRoom(const Identity& owner, const Commands& commands,
                         const ExecPlan& plan);
  absl::Status CheckTenantRoom(const Identity& owner) const;
  // Takes in a command that was asked to start.
  void Enter(Commands& commands, const SharedExec& exec);
  void HandleNews(const std::string& session_id, uint64_t number,
                  ProcessNews& news);
  void WatchJail(const std::string& session_id, Commands& commands);
  void ForgetJail(Commands& commands);
  void BeforeEnd(const SharedExec& exec,
                 const std::shared_ptr<ExecRecord>& record,
                 ExecSavedHandler done);
  void RecordOver(Exec& exec);
  void RecordSessionEnd(const std::string& session_id,
                        policy::KillReason reason);
  void MakeRoom(Commands& commands);
  static void DropOldestEnded(Commands& commands);
  // After `wait`, measures what the session's processes hold of memory that is
  // charged to nobody. Another thread does it, because a long list takes long
  // to read.
  void CheckUnchargedIn(absl::Duration wait, const std::string& session_id,
                        Commands& commands);
  void RecordUncharged(const std::string& session_id,
                       const policy::UnchargedMemory& memory,
                       absl::Duration took);
  static void KillThose(const Commands& commands, policy::KillReason reason,
                        uint64_t measured = 0);

  const ExecTableParts parts_;
  std::atomic<bool> accepting_ = true;
  std::atomic<uint32_t> running_ = 0;
  std::atomic<uint32_t> finite_ = 0;

  // Used only by the loop's own thread.
  const std::shared_ptr<DiskBudget> kept_;
  const std::shared_ptr<DiskBudget> stdin_waiting_;
  Shares running_shares_;
  std::map<std::string, uint64_t> running_of_tenant_;  // no zeros
  std::map<std::string, Commands> sessions_;
  uint64_t next_number_ = 1;

  // ORDER: last, so that the loops end before what they work on.
  EventLoop loop_;
  EventLoop uncharged_loop_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EXEC_EXEC_TABLE_H_
