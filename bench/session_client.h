#ifndef SANDGLASS_BENCH_SESSION_CLIENT_H_
#define SANDGLASS_BENCH_SESSION_CLIENT_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sandglass/v1/exec_service.grpc.pb.h"
#include "sandglass/v1/file_service.grpc.pb.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "sandglass/v1/session_service.grpc.pb.h"

namespace sandglass::bench {

// What is measured of sessions, call by call over one channel. What comes back
// is checked: another answer than the right one is an error.
class SessionClient {
 public:
  explicit SessionClient(const std::string& address);

  // Of "print(1)", in a session or, when its id is empty, without.
  absl::Status Run(const std::string& session_id);
  // With a Python kernel.
  absl::StatusOr<std::string> Create();
  absl::Status Delete(const std::string& session_id);
  absl::Status ExecTrue(const std::string& session_id);
  // So many bytes, in a file of that name.
  absl::Status Write(const std::string& session_id, const std::string& name,
                     size_t bytes);
  absl::Status Read(const std::string& session_id, const std::string& name,
                    size_t bytes);
  // One child, whose files are there when this returns. Its id.
  absl::StatusOr<std::string> Fork(const std::string& session_id,
                                   const std::string& name, size_t bytes);

 private:
  std::unique_ptr<v1::SandboxService::Stub> runs_;
  std::unique_ptr<v1::SessionService::Stub> sessions_;
  std::unique_ptr<v1::FileService::Stub> files_;
  std::unique_ptr<v1::ExecService::Stub> execs_;
};

}  // namespace sandglass::bench

#endif  // SANDGLASS_BENCH_SESSION_CLIENT_H_
