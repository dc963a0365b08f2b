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
#include "server/base/event_loop.h"
#include "server/base/monotonic.h"
#include "server/exec/exec_output.h"
#include "server/exec/exec_request.h"
#include "server/job/output_redaction.h"
#include "server/session/process_host.h"
#include "server/session/session.h"

namespace sandglass::server {

class Exec;

// Who waits for a command. Called on the loop's thread; may attach and detach.
class ExecClient {
 public:
  // It was started or could not be, wrote, took input, or has ended.
  virtual void OnExecChange() = 0;
  // It kept the command waiting too long and is no longer attached.
  virtual void OnTooSlow() = 0;

  // The next piece of output that it wants, and whether the command waits
  // until it has it.
  uint64_t next_sequence = 1;
  bool waits_for_all = false;
  // It is one of those with whom a command goes, see Exec::Leave.
  bool keeps_alive = false;

 protected:
  ~ExecClient() = default;
};

// What was done before it is told how a command ended.
struct ExecSaved {
  std::string files_not_saved;  // as in v1::ExecEnd
  absl::Status recorded;        // not OK: this is told instead
};

// What a command needs of those who keep it; all outlives it.
struct ExecSurroundings {
  EventLoop* loop = nullptr;
  std::shared_ptr<KeptBytes> kept;           // output of the session's commands
  std::shared_ptr<KeptBytes> stdin_waiting;  // input of its owner's
  // Output of others may go for that of this one.
  std::function<void()> make_room;
  // It is about to say that it has ended, or why it could not be started:
  // calls `done` when it may, on the loop's thread.
  std::function<void(const std::shared_ptr<Exec>& exec,
                     std::function<void(const ExecSaved&)> done)>
      before_end;
  // It has ended, or could not be started.
  std::function<void(Exec& exec)> on_over;
};

// One command of a session: its process, its output as far as it is kept, and
// who waits for it. On the loop's thread only.
class Exec : public std::enable_shared_from_this<Exec> {
 public:
  enum class State {
    kStarting,
    kRunning,
    kEnding,  // its process has ended
    kSaving,  // all is read; before_end
    kEnded,
    kFailing,  // it could not be started; before_end
    kFailed,
  };

  Exec(uint64_t number, ExecPlan plan, SessionUse use,
       const ExecSurroundings& around);
  ~Exec();
  Exec(const Exec&) = delete;
  Exec& operator=(const Exec&) = delete;

  uint64_t number() const { return number_; }
  const ExecPlan& plan() const { return plan_; }
  // The session of one that hasn't ended.
  Session& session() { return use_->session(); }
  std::shared_ptr<Session> shared_session() const {
    return use_->shared_session();
  }
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

  // Asks for its process. `take` is what is given to the host.
  absl::Status Start(const TakeProcessNews& take);
  void Take(ProcessNews& news);
  // Others run beside it: what the session's counters say may be theirs.
  void NoteCompany() { had_company_ = true; }

  void Attach(ExecClient* client);
  void Detach(ExecClient* client);
  // The client has gone. A command that nobody else keeps alive, that has no
  // name by its client and isn't in the background is stopped.
  void Leave(ExecClient* client);
  // A client's next_sequence has moved on.
  void OutputTaken();
  // Nobody waits for its end from here on.
  void GoOnInBackground();
  // The same before that client leaves, unless another keeps it going.
  void GoOnWithout(const ExecClient* client);

  // FAILED_PRECONDITION when it has no input that is open.
  absl::Status CheckStdin() const;
  // False as long as earlier input waits.
  bool stdin_taken() const { return stdin_.empty(); }
  void WriteStdin(std::string_view data);
  void CloseStdin();
  void Resize(const TerminalRoom& room);
  void Signal(int signal);
  // A signal, and after the grace the end.
  void Stop(int signal, absl::Duration grace);
  // Kills it with all that it started. The first reason stays.
  void Kill(policy::KillReason reason, uint64_t measured = 0);

 private:
  struct Source {
    Stream stream;
    OutputRedaction redaction;
    os::Fd fd;
    uint64_t watch = 0;
    uint64_t left = 0;  // to be read after its process's end
  };

  void Started(sandbox::SpawnedEvent& event);
  void NotStarted(const sandbox::SpawnFailedEvent& event);
  void Exited(std::optional<int> wait_status, Instant when);
  void Froze(bool frozen);
  void Fail(const absl::Status& status);
  // The clients are told.
  void Changed();
  void ChangeUse();

  bool MustWait() const;
  uint64_t WantedFrom() const;
  // Watches its output, or lets it wait.
  void WatchOutput();
  void StopWatching(Source& source);
  void ReadSome(Source& source);
  // False when nothing is there now.
  bool ReadOnce(Source& source);
  void Tell(const Source& source, std::string_view data);
  uint64_t written() const {
    return out_.redaction.taken_bytes() + err_.redaction.taken_bytes();
  }
  void Stalled();
  void WriteSome();
  void StopWriting();

  void SetTimer(uint64_t& timer, absl::Duration wait, void (Exec::*call)());
  void StopTimer(uint64_t& timer);
  void WallTimePassed();
  void HangUpAgain();
  void GraceIsOver();
  // What was killed has a while to die; meanwhile it is killed in other ways.
  void AwaitDeath();
  void InsistOnDeath();
  void GiveUp();
  void CheckCpu();
  absl::Duration RunTime() const;

  void FinishWhenAlone();
  // What is left in its pipes.
  void Drain();
  void Conclude();
  policy::RunFacts CollectFacts(const JailFacts& after) const;
  void Publish(const ExecSaved& saved);

  const uint64_t number_;
  ExecPlan plan_;
  const ExecSurroundings around_;
  std::optional<SessionUse> use_;
  ProcessHost* const host_;
  State state_ = State::kStarting;
  absl::Status status_;
  bool background_;
  std::vector<ExecClient*> clients_;

  uint64_t process_ = 0;  // as its host knows it
  pid_t pid_ = 0;
  absl::Time start_time_;
  Instant asked_ = 0;  // for its process
  Instant start_ = 0;
  Instant ended_ = 0;
  Instant frozen_ = 0;  // since; 0: it isn't
  absl::Duration frozen_time_;
  os::Fd kill_fd_, events_fd_, cpu_fd_, list_fd_;
  Source out_;
  Source err_;
  ExecOutput output_;

  os::Fd stdin_fd_;  // empty on a terminal
  std::string stdin_;
  size_t stdin_written_ = 0;
  bool stdin_closing_ = false;
  bool stdin_closed_ = false;
  uint64_t stdin_watch_ = 0;

  uint64_t wall_timer_ = 0, cpu_timer_ = 0, kill_timer_ = 0, stall_timer_ = 0;
  absl::Duration grace_left_;
  absl::Duration wall_left_ = absl::InfiniteDuration();  // when it froze
  uint64_t events_watch_ = 0;
  Instant give_up_ = kNever;  // while its death is awaited
  bool gave_up_ = false;
  std::optional<policy::Kill> kill_;
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
