#ifndef SANDGLASS_SERVER_EXEC_EXEC_H_
#define SANDGLASS_SERVER_EXEC_EXEC_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "policy/verdict/verdict.h"
#include "sandbox/os/fd.h"
#include "sandglass/v1/exec.pb.h"
#include "server/base/clock.h"
#include "server/exec/exec_output.h"
#include "server/exec/exec_request.h"
#include "server/exec/exec_surroundings.h"
#include "server/job/death.h"
#include "server/job/limit_watch.h"
#include "server/job/output_pace.h"
#include "server/job/output_redaction.h"
#include "server/session/jail_processes.h"
#include "server/session/session.h"

namespace sandglass::server {

// Somebody who waits for a command. Called on the loop's thread; the methods
// may attach and detach clients.
class ExecClient {
 public:
  // The command was started or could not be, wrote, took input, or has ended.
  virtual void OnExecChange() = 0;
  // This client kept the command waiting too long and is no longer attached.
  virtual void OnTooSlow() = 0;

  // The next piece of output that the client wants, and whether the command
  // waits until the client has it.
  uint64_t next_sequence = 1;
  bool waits_for_all = false;
  // One of those without which the command is stopped, see Exec::Leave.
  bool keeps_alive = false;

 protected:
  ~ExecClient() = default;
};

// One command of a session: its process, the output that is kept of it, and the
// clients that wait for it. Only to be used on the loop's thread.
class Exec : public std::enable_shared_from_this<Exec> {
 public:
  enum class State {
    kStarting,
    kRunning,
    kEnding,  // its process has ended
    kSaving,  // all output is read; BeforeEnd is under way
    kEnded,
    kFailing,  // it could not be started; BeforeEnd is under way
    kFailed,
  };

  Exec(uint64_t number, ExecPlan plan, SessionUse use,
       const ExecSurroundings& around);
  ~Exec();
  Exec(const Exec&) = delete;
  Exec& operator=(const Exec&) = delete;

  uint64_t number() const { return number_; }
  const ExecPlan& plan() const { return plan_; }
  // The session. Precondition: the command hasn't ended.
  Session& session() { return use_->session(); }
  SharedSession shared_session() const { return use_->shared_session(); }
  State state() const { return state_; }
  bool over() const {
    return state_ == State::kEnded || state_ == State::kFailed;
  }
  bool runs() const {
    return state_ == State::kStarting || state_ == State::kRunning;
  }
  bool starting() const {
    return state_ == State::kStarting || state_ == State::kFailing;
  }
  // Why it could not be started, or why nobody may be told of its end.
  const absl::Status& status() const { return status_; }
  bool background() const { return background_; }
  ExecOutput& output() { return output_; }
  const v1::ExecEnd& end() const { return end_; }
  v1::ExecInfo Describe();

  // Asks the host for its process. `take` is passed to the host.
  absl::Status Start(const ProcessNewsHandler& take);
  void Handle(ProcessNews& news);
  // Others run beside it: changes of the session's counters may be theirs.
  void RecordCompany() { had_company_ = true; }

  void Attach(ExecClient* client);
  void Detach(ExecClient* client);
  // The client has gone. The command is stopped, unless another client keeps it
  // alive, its client gave it a name, or it is in the background.
  void Leave(ExecClient* client);
  // Call it when a client's next_sequence has moved on.
  void OutputTaken();
  // From now on nobody waits for its end.
  void GoOnInBackground();
  // Does the same before that client leaves, unless another one keeps it going.
  void GoOnWithout(const ExecClient* client);

  // FAILED_PRECONDITION when it has no open input.
  absl::Status CheckStdin() const;
  // False as long as earlier input still waits.
  bool stdin_taken() const { return stdin_.empty(); }
  void WriteStdin(std::string_view data);
  void CloseStdin();
  void Resize(const TerminalRoom& room);
  void Signal(int signal);
  // Sends a signal, and kills the command when the grace is over.
  void Stop(int signal, absl::Duration grace);
  // Kills it with everything that it started. The first reason stays.
  void Kill(policy::KillReason reason, uint64_t measured = 0);

 private:
  struct Source {
    Stream stream;
    OutputRedaction redaction;
    os::Fd fd;
    uint64_t watch = 0;
    uint64_t left = 0;  // bytes to read after its process's end
  };

  void Started(sandbox::SpawnedEvent& event);
  void Exited(std::optional<int> wait_status, MonotonicTime when);
  void Froze(bool frozen);
  void Fail(const absl::Status& status);
  // Tells the clients.
  void Changed();
  void ChangeUse();

  // Whether a client other than that one keeps it going.
  bool OtherKeepsAlive(const ExecClient* client) const;
  // Has the loop call `call` as long as the command is there.
  uint64_t Watch(const os::Fd& fd, uint32_t events,
                 std::function<void(Exec&)> call);

  bool MustWait() const;
  uint64_t WantedFrom() const;
  // Watches its output, or stops reading when the output has to wait or comes
  // in small pieces.
  void WatchOutput();
  void ReadAfterPause();
  void StopWatching(Source& source);
  void ReadSome(Source& source);
  // Returns false when nothing is there now.
  bool ReadOnce(Source& source);
  void AppendOutput(const Source& source, std::string_view data);
  uint64_t written() const {
    return out_.redaction.taken_bytes() + err_.redaction.taken_bytes();
  }
  void Stalled();
  void WriteSome();
  void ExpectAnswer();  // what it writes next is read at once
  void DropStdin();     // what still waits of it
  void StopWriting();

  // Sets one of its timers, which is 0 again when it calls; none for kNever.
  void SetTimer(uint64_t& timer, MonotonicTime when, void (Exec::*call)());
  void StopTimer(uint64_t& timer);
  // Kills it when it has reached a limit.
  void CheckLimits();
  void CheckLimitsInTime();  // and sets the timer for the next look
  void HangUpAgain();
  void GraceIsOver();
  // Gives a killed command time to die; meanwhile kills it in other ways.
  void AwaitDeath();
  void InsistOnDeath();
  void GiveUp();
  absl::Duration RunTime() const { return limit_watch_.RunTime(Now()); }

  void FinishWhenAlone();
  // Reads what is left in its pipes.
  void Drain();
  void Conclude();
  policy::RunFacts CollectFacts(const JailFacts& after) const;
  void Publish(const ExecSaved& saved);

  const uint64_t number_;
  ExecPlan plan_;
  const ExecSurroundings around_;
  std::optional<SessionUse> use_;
  JailProcesses* const host_;
  State state_ = State::kStarting;
  absl::Status status_;
  bool background_;
  std::vector<ExecClient*> clients_;

  uint64_t process_ = 0;  // the number by which its host knows it
  pid_t pid_ = 0;
  absl::Time start_time_;
  MonotonicTime asked_;  // when its process was asked for
  MonotonicTime start_;
  MonotonicTime ended_;
  sandbox::ProcessFds fds_;  // those of its group; the others are moved from
  Source out_;
  Source err_;
  ExecOutput output_;
  OutputPace pace_;

  os::Fd stdin_fd_;  // empty on a terminal
  std::string stdin_;
  size_t stdin_written_ = 0;
  bool stdin_closing_ = false;
  bool stdin_closed_ = false;
  uint64_t stdin_watch_ = 0;

  LimitWatch limit_watch_;
  bool had_yielded_ = false;  // the jail, before the command
  uint64_t limit_timer_ = 0, kill_timer_ = 0, stall_timer_ = 0;
  uint64_t pause_timer_ = 0;
  absl::Duration grace_left_;
  uint64_t events_watch_ = 0;
  std::optional<Death> death_;  // while it is awaited
  bool gave_up_ = false;
  std::optional<int> wait_status_;
  JailFacts before_;
  bool had_company_ = false;
  bool jail_out_of_memory_ = false;
  uint32_t leftover_ = 0;
  sandbox::GroupCpu cpu_;
  v1::ExecEnd end_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EXEC_EXEC_H_
