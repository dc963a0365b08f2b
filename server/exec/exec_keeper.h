#ifndef SANDGLASS_SERVER_EXEC_EXEC_KEEPER_H_
#define SANDGLASS_SERVER_EXEC_EXEC_KEEPER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"

namespace sandglass::server {

class Exec;

// What was saved and recorded before anybody is told how a command ended.
struct ExecSaved {
  std::string files_not_saved;  // as in v1::ExecEnd
  absl::Status recorded;        // an error is told instead of the end
};

// Whoever keeps a command. Called on the loop's thread.
class ExecKeeper {
 public:
  virtual ~ExecKeeper() = default;
  // Makes room for the command's output by dropping output of others.
  virtual void MakeRoom() = 0;
  // The command is about to say that it has ended, or why it could not be
  // started. Calls `done`, on the loop's thread, when the command may say so.
  virtual void BeforeEnd(const std::shared_ptr<Exec>& exec,
                         std::function<void(const ExecSaved&)> done) = 0;
  // It has ended or could not be started.
  virtual void RecordOver(Exec& exec) = 0;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_EXEC_EXEC_KEEPER_H_
