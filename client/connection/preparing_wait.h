#ifndef SANDGLASS_CLIENT_CONNECTION_PREPARING_WAIT_H_
#define SANDGLASS_CLIENT_CONNECTION_PREPARING_WAIT_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "grpcpp/support/status.h"

namespace sandglass::client {

// Has a call made again while the daemon refuses it because it is preparing the
// language for its first use; for five minutes at most. One for each thing that
// is to be done.
class PreparingWait {
 public:
  // `say` gets one line, without its end, when there is something to wait for.
  // `stopped`, if given, is asked while it waits and ends it.
  explicit PreparingWait(std::function<void(const std::string&)> say,
                         std::function<bool()> stopped = nullptr);

  // Call it with what the call ended with. Waits if that makes sense, and
  // returns true when the call is to be made again.
  bool Again(const grpc::Status& status);

 private:
  const std::function<void(const std::string&)> say_;
  const std::function<bool()> stopped_;
  std::optional<absl::Time> end_;  // once there is something to wait for
  absl::Duration pause_;
};

// Says it on standard error.
void SayOnStderr(const std::string& line);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_PREPARING_WAIT_H_
