#ifndef SANDGLASS_BENCH_DAEMON_CLIENT_H_
#define SANDGLASS_BENCH_DAEMON_CLIENT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/stats.h"
#include "bench/tables.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"

namespace sandglass::bench {

// One run through the daemon.
struct RunSample {
  absl::Duration call;  // from the call's start to its answer, at the client
  // Phases as the daemon tells them, then what of `call` it doesn't know of:
  // client, gRPC and socket.
  NamedTimes phases;
  // Steps of making the jail, in their order.
  NamedTimes steps;
};

// One endless program, stopped at its wall limit. All three are what came on
// top of the limit.
struct WallSample {
  absl::Duration decided;  // the daemon's decision to kill
  absl::Duration ended;    // the program's end; what the limit promises
  // The whole call at the client, making the jail included: an upper bound
  // that takes nobody's word.
  absl::Duration call;
};

// Calls the daemon over one channel, one call at a time.
class DaemonClient {
 public:
  // `address` as gRPC takes it, for example "unix:/run/sandglass/x.sock". Waits
  // up to 2 minutes for the daemon to answer, since it
  // may prepare languages before.
  static absl::StatusOr<DaemonClient> Connect(const std::string& address);

  // Version, Python and isolation layers in force, as lines to print.
  const NamedFacts& facts() const { return facts_; }

  // The daemon's version and those of all its languages.
  NamedFacts FactsOfLanguages() const;
  // Empty for a language whose programs can run.
  std::string WhyUnavailable(const std::string& language) const;

  // The environment that a program gets, "NAME=value".
  absl::StatusOr<std::vector<std::string>> ProgramEnvironment();
  // Any outcome but OK, or other output, is an error.
  absl::StatusOr<RunSample> TimeRun(const std::string& language,
                                    const std::string& code,
                                    const std::string& output);
  // print(1) in Python.
  absl::StatusOr<RunSample> TimePrint();
  // Any outcome but TIMEOUT is an error.
  absl::StatusOr<WallSample> TimeWallLimit(absl::Duration limit);

 private:
  explicit DaemonClient(std::unique_ptr<v1::SandboxService::Stub> stub)
      : stub_(std::move(stub)) {}
  absl::Status LearnFacts();
  absl::StatusOr<v1::RunCodeResponse> Run(const v1::RunCodeRequest& request,
                                          v1::Outcome expected);

  std::unique_ptr<v1::SandboxService::Stub> stub_;
  v1::GetServerInfoResponse info_;
  NamedFacts facts_;
};

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_DAEMON_CLIENT_H_
