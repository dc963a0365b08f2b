#ifndef SANDGLASS_TESTS_CLIENT_FAKE_FAKE_DAEMON_H_
#define SANDGLASS_TESTS_CLIENT_FAKE_FAKE_DAEMON_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/message.h"
#include "grpcpp/server.h"
#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "tests/client/fake/fake_execs.h"
#include "tests/client/fake/fake_files.h"
#include "tests/client/fake/fake_operator.h"
#include "tests/client/fake/fake_sessions.h"
#include "tests/client/fake/shared.h"
#include "tests/support/subprocess.h"
#include "tests/support/temp_dir.h"

namespace sandglass::client {

using testing::TempDir;

using StreamWriter = grpc::ServerWriter<v1::StreamRunCodeResponse>;

// A SandboxService on a unix socket in the test's process, whose answers a test
// sets before it calls, with the services of sessions beside it. It knows two
// languages, python and bash.
class FakeDaemon final : public v1::SandboxService::Service {
 public:
  FakeDaemon();
  ~FakeDaemon() override;

  // Set before the first call.
  Shared<std::function<grpc::Status(const v1::RunCodeRequest&,
                                    v1::RunCodeResponse&)>>
      on_run;
  Shared<std::function<grpc::Status(grpc::ServerContext&,
                                    const v1::RunCodeRequest&, StreamWriter&)>>
      on_stream;
  Shared<std::function<grpc::Status(const v1::ListRunsRequest&,
                                    v1::ListRunsResponse&)>>
      on_list;
  Shared<std::function<grpc::Status(const v1::CancelRunRequest&,
                                    v1::CancelRunResponse&)>>
      on_cancel;

  FakeSessions sessions;
  FakeFiles files;
  FakeExecs execs;
  FakeOperator operators;

  // The last request, and how many came; true once a stream saw its client
  // cancel (WaitForCancel).
  Shared<v1::RunCodeRequest> last_request;
  std::atomic<int> runs{0};
  std::atomic<int> info_calls{0};
  std::atomic<bool> cancelled{false};

  // Returns once the client has cancelled; gives up after 20 s.
  grpc::Status WaitForCancel(grpc::ServerContext& context);

  // Makes both run calls answer `response`; streaming sends its outputs as one
  // chunk each before it.
  void Answer(const v1::RunCodeResponse& response);
  // Makes both run calls fail.
  void FailRuns(const grpc::Status& status);

  std::string address() const { return "unix:" + directory_.Path("s"); }
  std::string socket_path() const { return directory_.Path("s"); }
  const TempDir& directory() const { return directory_; }

  // Options for the binary with this daemon's address in the environment.
  SubprocessOptions Client(std::vector<std::string> args) const;
  SubprocessResult RunClient(std::vector<std::string> args) const;

  void Stop();
  // Once more at the same address, after Stop.
  void Start();

 private:
  grpc::Status RunCode(grpc::ServerContext* context,
                       const v1::RunCodeRequest* request,
                       v1::RunCodeResponse* response) override;
  grpc::Status StreamRunCode(grpc::ServerContext* context,
                             const v1::StreamRunCodeRequest* request,
                             StreamWriter* writer) override;
  grpc::Status ListRuns(grpc::ServerContext* context,
                        const v1::ListRunsRequest* request,
                        v1::ListRunsResponse* response) override;
  grpc::Status CancelRun(grpc::ServerContext* context,
                         const v1::CancelRunRequest* request,
                         v1::CancelRunResponse* response) override;
  grpc::Status GetServerInfo(grpc::ServerContext* context,
                             const v1::GetServerInfoRequest* request,
                             v1::GetServerInfoResponse* response) override;

  TempDir directory_;
  std::unique_ptr<grpc::Server> server_;
};

// What GetServerInfo of the fake answers.
v1::GetServerInfoResponse FakeInfo();

// An answer with this outcome and a run id of "r-1".
v1::RunCodeResponse ResponseWith(v1::Outcome outcome);

// Sends a piece of output.
void SendChunk(StreamWriter& writer, v1::OutputStream stream, uint64_t offset,
               const std::string& data);
void SendStarted(StreamWriter& writer);
// A result at this place of the two streams.
void SendRich(StreamWriter& writer, const v1::RichResult& result);
// The last event of a stream.
void SendResult(StreamWriter& writer, const v1::RunCodeResponse& response);

// A result of one or two types.
v1::RichResult RichOf(
    uint64_t stdout_offset, uint64_t stderr_offset,
    const std::vector<std::pair<std::string, std::string>>& type_and_data);

// A status whose details carry these messages, as google.rpc wants it.
grpc::Status RichStatus(
    grpc::StatusCode code, const std::string& message,
    const std::vector<const google::protobuf::Message*>& details);

}  // namespace sandglass::client

#endif  // SANDGLASS_TESTS_CLIENT_FAKE_FAKE_DAEMON_H_
