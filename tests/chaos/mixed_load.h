#ifndef SANDGLASS_TESTS_CHAOS_MIXED_LOAD_H_
#define SANDGLASS_TESTS_CHAOS_MIXED_LOAD_H_

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "tests/chaos/diary.h"
#include "tests/support/daemon/client.h"

namespace sandglass::testing {

// What clients were told. Thread-safe.
class Ledger {
 public:
  // An answer that has to be in the audit log.
  void Acknowledged(const std::string& event, const std::string& id)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A call that went wrong, by what was called and the code of its status.
  void Failed(const std::string& call, const grpc::Status& status)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // A run or command that ended otherwise than by itself.
  void Ended(v1::Outcome outcome, const std::string& what)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // An answer that is not what the program does: never right.
  void Wrong(const std::string& what) ABSL_LOCKS_EXCLUDED(mutex_);
  void Done(const std::string& call) ABSL_LOCKS_EXCLUDED(mutex_);

  // Ids by the event of the audit log that must name them.
  std::map<std::string, std::set<std::string>> acknowledged() const
      ABSL_LOCKS_EXCLUDED(mutex_);
  // "run_code: UNAVAILABLE (message)", the same ones counted.
  std::map<std::string, int> failures() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::set<grpc::StatusCode> codes() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Ends that were not as wanted; OK where only the output was another, and a
  // limit was touched.
  std::map<v1::Outcome, std::string> ended() const ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<std::string> wrong() const ABSL_LOCKS_EXCLUDED(mutex_);
  int done() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, std::set<std::string>> acknowledged_
      ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> failures_ ABSL_GUARDED_BY(mutex_);
  std::set<grpc::StatusCode> codes_ ABSL_GUARDED_BY(mutex_);
  std::map<v1::Outcome, std::string> ended_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> wrong_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, int> done_ ABSL_GUARDED_BY(mutex_);
};

// Clients that work all the time, each in a thread with a channel of its own:
// runs of each language, streams, runs that are cancelled, by the client or by
// another call, runs with files, sessions with cells, commands and files, and
// one durable session from the first to the last. After a call that failed a
// client waits a moment and goes on.
class MixedLoad {
 public:
  MixedLoad(std::string address, Ledger& ledger);
  // As Stop.
  ~MixedLoad();
  MixedLoad(const MixedLoad&) = delete;
  MixedLoad& operator=(const MixedLoad&) = delete;

  // One run of each language.
  static void RunEach(Client& client, Ledger& ledger);

  // Begins nothing more and waits for what goes on, each call of which has a
  // deadline. What the durable session has kept is looked at once more.
  void Stop();

 private:
  using Turn = void (MixedLoad::*)(Client&, int);

  void Loop(Turn turn);
  void Run(Client& client, int turn);
  void Compile(Client& client, int turn);
  void Stream(Client& client, int turn);
  void Cancel(Client& client, int turn);
  void Upload(Client& client, int turn);
  void Session(Client& client, int turn);
  // Whether it ended so; notes it if not.
  bool IsEnd(const std::string& call, v1::Outcome outcome, v1::Outcome wanted,
             const std::string& described);
  // Whether the run was answered, with this output, and OUTCOME_OK.
  bool Expect(const std::string& call, const RunResult& result,
              const std::string& output);
  // Notes a call's end; returns whether it went well.
  bool Note(const std::string& call, const grpc::Status& status);
  void CommandIn(const std::string& session, int turn);
  void KeepDiary();
  std::string OpenDiary(Client& client);
  void WritePage(Client& client, const std::string& session, Diary& diary,
                 int number);
  // Runs one of the diary's programs; whether it could be read.
  bool ReadDiary(Client& client, const std::string& session, Diary& diary,
                 const std::string& program);
  // As Note: a durable session outlives everything.
  bool NoteDurable(const std::string& call, const grpc::Status& status);

  const std::string address_;
  Ledger& ledger_;
  absl::Notification stop_;
  std::atomic<bool> failed_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_CHAOS_MIXED_LOAD_H_
