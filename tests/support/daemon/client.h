#ifndef SANDGLASS_TESTS_SUPPORT_DAEMON_CLIENT_H_
#define SANDGLASS_TESTS_SUPPORT_DAEMON_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"
#include "google/rpc/error_details.pb.h"
#include "sandglass/v1/file_service.grpc.pb.h"
#include "sandglass/v1/policy_service.grpc.pb.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "sandglass/v1/session_service.grpc.pb.h"

namespace sandglass::testing {

// Deadline of every call that names none: no call may hang a test.
inline constexpr absl::Duration kCallDeadline = absl::Seconds(50);

// Answer of a unary RunCode.
struct RunResult {
  grpc::Status status;
  v1::RunCodeResponse response;
  absl::Duration elapsed;  // as the client saw it
};

// All of one StreamRunCode.
struct StreamResult {
  grpc::Status status;
  std::vector<v1::StreamRunCodeResponse> events;
  std::vector<absl::Duration> arrivals;  // of each event, since the call

  // Data of all chunks of one stream, in the order they came.
  std::string Data(v1::OutputStream stream) const;
  // The final event's answer; nullptr when the last event is something else.
  const v1::RunCodeResponse* result() const;
};

// What google.rpc.Status in the error's trailer says.
struct ErrorDetails {
  // Field path to description, from BadRequest.
  std::map<std::string, std::string> fields;
  std::string reason;  // of ErrorInfo
  std::string domain;  // of ErrorInfo
  std::optional<absl::Duration> retry_delay;
};
ErrorDetails DetailsOf(const grpc::Status& status);

// A stream that a test reads step by step.
class StreamCall {
 public:
  StreamCall(v1::SandboxService::Stub& stub, const v1::RunCodeRequest& request,
             absl::Duration deadline = kCallDeadline);
  // Cancels what still runs.
  ~StreamCall();
  StreamCall(const StreamCall&) = delete;
  StreamCall& operator=(const StreamCall&) = delete;

  // False at the stream's end.
  bool Next(v1::StreamRunCodeResponse* event);
  // Reads until the program has written `text` to stdout; false when the
  // stream ended before.
  bool ReadUntil(std::string_view text);
  // Of the started event, once read.
  const std::string& run_id() const { return run_id_; }
  void Cancel() { context_.TryCancel(); }
  // Reads the rest and returns the call's status.
  grpc::Status Finish();
  // The final event, once read.
  const std::optional<v1::RunCodeResponse>& result() const { return result_; }
  // What was read of stdout.
  const std::string& output() const { return output_; }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::StreamRunCodeResponse>> reader_;
  std::string run_id_;
  std::string output_;
  std::optional<v1::RunCodeResponse> result_;
  bool finished_ = false;
};

// A channel to a daemon with the calls of the service in their plainest form.
// Thread-safe.
class Client {
 public:
  // "unix:/path" or "host:port".
  explicit Client(const std::string& address);

  RunResult Run(const v1::RunCodeRequest& request,
                absl::Duration deadline = kCallDeadline);
  StreamResult Stream(const v1::RunCodeRequest& request,
                      absl::Duration deadline = kCallDeadline);
  // Runs all, `in_flight` at a time; the answers stand where their requests
  // do.
  std::vector<RunResult> RunAll(const std::vector<v1::RunCodeRequest>& requests,
                                int in_flight,
                                absl::Duration deadline = kCallDeadline);
  grpc::Status List(const v1::ListRunsRequest& request,
                    v1::ListRunsResponse* response);
  grpc::Status CancelRun(const std::string& run_id,
                         v1::CancelRunResponse* response);
  grpc::Status Info(v1::GetServerInfoResponse* response);
  // True when grpc.health.v1 answers SERVING for `service` ("" is the whole
  // server).
  bool Serving(const std::string& service = "",
               absl::Duration deadline = absl::Seconds(1));
  // Whether a call fails at once when no server answers, or waits for one until
  // its deadline.
  enum class Waiting { kNot, kForServer };
  // A unary call with a body of raw bytes; for what no message class can
  // spell. The answer's bytes go to `answer` when it is not null.
  grpc::Status CallRaw(const std::string& method, const std::string& body,
                       std::string* answer,
                       absl::Duration deadline = kCallDeadline,
                       Waiting waiting = Waiting::kNot);
  // The names that server reflection lists, as raw bytes of its answer.
  grpc::Status Reflect(std::string* answer);

  v1::SandboxService::Stub& stub() { return *stub_; }
  v1::SessionService::Stub& sessions() { return *sessions_; }
  v1::FileService::Stub& files() { return *files_; }
  v1::PolicyService::Stub& policy() { return *policy_; }

 private:
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::SandboxService::Stub> stub_;
  std::unique_ptr<v1::SessionService::Stub> sessions_;
  std::unique_ptr<v1::FileService::Stub> files_;
  std::unique_ptr<v1::PolicyService::Stub> policy_;
};

// Requests that need nothing but their code.
v1::RunCodeRequest Program(std::string_view language, std::string_view code);
inline v1::RunCodeRequest Python(std::string_view code) {
  return Program("python", code);
}
inline v1::RunCodeRequest Bash(std::string_view code) {
  return Program("bash", code);
}
// The same with a wall time limit.
v1::RunCodeRequest WithWall(v1::RunCodeRequest request, absl::Duration wall);

void SetDuration(google::protobuf::Duration* target, absl::Duration value);
absl::Duration ToAbsl(const google::protobuf::Duration& value);

}  // namespace sandglass::testing

#endif  // SANDGLASS_TESTS_SUPPORT_DAEMON_CLIENT_H_
