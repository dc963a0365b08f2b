#ifndef SANDGLASS_BENCH_DAEMON_CLIENT_H_
#define SANDGLASS_BENCH_DAEMON_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/contenders.h"
#include "bench/programs.h"
#include "bench/tables.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"

namespace sandglass::bench {

// One endless program, stopped at its wall limit. All three are what came on
// top of the limit.
struct WallSample {
  absl::Duration decided;  // the daemon's decision to kill
  absl::Duration ended;    // the program's end; what the limit promises
  // The whole call at the client, making the jail included: an upper bound
  // that takes nobody's word.
  absl::Duration call;
};

// Idle jails of one kind for the default profile.
struct PoolStock {
  std::string kind;
  uint32_t idle = 0;
  uint32_t target = 0;
};

// Calls the daemon over one channel. Thread-safe.
class DaemonClient {
 public:
  // `address` as gRPC takes it, for example "unix:/run/sandglass/x.sock". Waits
  // up to 2 minutes for the daemon to answer, since it
  // may prepare languages before.
  static absl::StatusOr<DaemonClient> Connect(const std::string& address);

  // The daemon's version, those of all its languages, and the isolation layers
  // in force.
  NamedFacts Facts() const;
  // Empty for a language whose programs can run.
  std::string WhyUnavailable(const std::string& language) const;

  // The environment that a program gets, "NAME=value".
  absl::StatusOr<std::vector<std::string>> ProgramEnvironment();
  // Any outcome but OK, or other output, is an error.
  absl::StatusOr<Sample> TimeRun(const Program& program,
                                 const ProgramText& text);
  absl::StatusOr<std::vector<PoolStock>> Pool();
  // How often a run found no idle jail, of all kinds, since the daemon's start.
  absl::StatusOr<uint64_t> Misses();
  // Any outcome but TIMEOUT is an error.
  absl::StatusOr<WallSample> TimeWallLimit(absl::Duration limit);

 private:
  explicit DaemonClient(std::unique_ptr<v1::SandboxService::Stub> stub)
      : stub_(std::move(stub)) {}
  absl::Status LearnFacts();
  absl::Status GetInfo(v1::GetServerInfoResponse& info);
  absl::StatusOr<v1::RunCodeResponse> Run(const v1::RunCodeRequest& request,
                                          v1::Outcome expected);

  std::unique_ptr<v1::SandboxService::Stub> stub_;
  v1::GetServerInfoResponse info_;
};

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_DAEMON_CLIENT_H_
