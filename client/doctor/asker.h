#ifndef SANDGLASS_CLIENT_DOCTOR_ASKER_H_
#define SANDGLASS_CLIENT_DOCTOR_ASKER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/connection/daemon.h"
#include "client/doctor/report.h"
#include "client/doctor/starters.h"
#include "client/terminal/interrupt_watcher.h"

namespace sandglass::client {

// Sends the doctor's runs, one at a time except for Companion, and retries when
// a daemon is busy. Errors say in one line why there is no answer.
class Asker {
 public:
  Asker(const Daemon& daemon, InterruptWatcher& interrupts,
        std::string profile);

  // A request to run the probe with these arguments; it isn't sent yet.
  v1::RunCodeRequest Request(const Way& way,
                             const std::vector<std::string>& args) const;

  // The answer to the run, in whatever kind of jail it ran.
  absl::StatusOr<v1::RunCodeResponse> Ask(const v1::RunCodeRequest& request);
  // The same in a jail of the way's kind: answers from other kinds don't count,
  // and the run is repeated until a jail of this kind is ready.
  absl::StatusOr<v1::RunCodeResponse> AskIn(const Way& way,
                                            const v1::RunCodeRequest& request);

  // The run that leaves marks; it goes on as long as this object lives.
  class Companion {
   public:
    ~Companion();
    const ProbeReply& reply() const { return reply_; }

   private:
    friend class Asker;
    grpc::ClientContext context_;
    std::unique_ptr<grpc::ClientReader<v1::StreamRunCodeResponse>> reader_;
    ProbeReply reply_;
  };
  absl::StatusOr<std::unique_ptr<Companion>> Accompany(
      v1::RunCodeRequest request);

  grpc::Status Info(v1::GetServerInfoResponse& info);

  int runs() const { return runs_; }
  bool interrupted() const { return interrupts_.signal() != 0; }
  // The first call that failed.
  const std::optional<grpc::Status>& first_failure() const { return failure_; }

 private:
  bool Waits(const std::string& kind);
  absl::Status RecordFailure(const grpc::Status& status);
  // Waits for `time`, or less when interrupted.
  void Pause(absl::Duration time) const;

  const Daemon& daemon_;
  InterruptWatcher& interrupts_;
  const std::string profile_;
  const absl::Time end_;     // no run is sent after this
  absl::Duration patience_;  // left for retries with a busy daemon
  int runs_ = 0;
  bool lost_ = false;
  std::optional<grpc::Status> failure_;
};

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_DOCTOR_ASKER_H_
