#ifndef SANDGLASS_BENCH_LIBRARIES_CLIENT_H_
#define SANDGLASS_BENCH_LIBRARIES_CLIENT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"

namespace sandglass::bench {

struct LibrariesProgram {
  std::string language;
  std::string code;
  std::vector<std::string> libraries;
  std::vector<std::pair<std::string, std::string>> files;  // by path
  std::vector<std::string> args;
  std::string profile;
};

struct LibrariesRun {
  absl::Duration time;  // from the call until the answer was there
  absl::Duration wait;  // of it, for libraries
  bool installed = false;
  bool warm = false;
  std::string output;
};

// Runs programs that name libraries, over one channel.
class LibrariesClient {
 public:
  explicit LibrariesClient(const std::string& address);

  // Any outcome but OK is an error.
  absl::StatusOr<LibrariesRun> Run(const LibrariesProgram& program);

 private:
  std::unique_ptr<v1::SandboxService::Stub> stub_;
};

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_LIBRARIES_CLIENT_H_
