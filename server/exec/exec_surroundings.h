#ifndef SANDGLASS_SERVER_EXEC_EXEC_SURROUNDINGS_H_
#define SANDGLASS_SERVER_EXEC_EXEC_SURROUNDINGS_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "server/base/event_loop.h"
#include "server/exec/exec_output.h"
#include "server/session/disk_budget.h"

namespace sandglass::server {

class Exec;
using SharedExec = std::shared_ptr<Exec>;

// What was saved and recorded before anybody is told how a command ended.
struct ExecSaved {
  std::string files_not_saved;  // as in v1::ExecEnd
  absl::Status recorded;        // an error is told instead of the end
};
using ExecSavedHandler = std::function<void(const ExecSaved&)>;

// Whoever keeps a command. Called on the loop's thread.
class ExecKeeper {
 public:
  virtual ~ExecKeeper() = default;
  // Makes room for the command's output by dropping output of others.
  virtual void MakeRoom() = 0;
  // The command is about to say that it has ended, or why it could not be
  // started. Calls `done`, on the loop's thread, when the command may say so.
  virtual void BeforeEnd(const SharedExec& exec, ExecSavedHandler done) = 0;
  // It has ended or could not be started.
  virtual void RecordOver(Exec& exec) = 0;
};

// What a command needs of its surroundings; everything must outlive it.
struct ExecSurroundings {
  EventLoop* loop = nullptr;
  std::shared_ptr<KeptBytes> kept;  // output of the session's commands
  std::shared_ptr<DiskBudget> stdin_waiting;  // input of its owner's commands
  std::shared_ptr<ExecKeeper> keeper;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EXEC_EXEC_SURROUNDINGS_H_
