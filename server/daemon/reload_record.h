#ifndef SANDGLASS_SERVER_DAEMON_RELOAD_RECORD_H_
#define SANDGLASS_SERVER_DAEMON_RELOAD_RECORD_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandbox/os/fd.h"

namespace sandglass::server {

// The file in the state directory by which a daemon tells `sandglassd --reload`
// how its reloads end. Only root may open it; the daemon has it open since it
// was root, and locked, so that nobody takes the file of an earlier daemon for
// its own.
class ReloadRecord {
 public:
  struct State {
    pid_t pid = 0;       // the daemon's
    uint64_t begun = 0;  // reloads since its start
    uint64_t ended = 0;
    std::string error;  // of the last that ended; empty: it went well
  };

  // Makes the file anew, for this process.
  // Preconditions: the state directory is locked.
  static absl::StatusOr<ReloadRecord> Make(const std::string& state_dir);
  // UNAVAILABLE where no daemon has the file, for example since it still
  // starts.
  static absl::StatusOr<State> Read(const std::string& state_dir);

  ReloadRecord() = default;
  // For one thread at a time. Each Begin is followed by an End.
  void Begin();
  void End(const absl::Status& result);

 private:
  void WriteNumbers() const;

  os::Fd file_;
  State state_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_DAEMON_RELOAD_RECORD_H_
