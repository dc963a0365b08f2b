#ifndef SANDGLASS_TESTS_CLIENT_FAKE_FAKE_EXECS_H_
#define SANDGLASS_TESTS_CLIENT_FAKE_FAKE_EXECS_H_

#include <functional>
#include <string>

#include "sandglass/v1/exec_service.grpc.pb.h"
#include "tests/client/fake/fake_sessions.h"
#include "tests/client/fake/shared.h"

namespace sandglass::client {

using ExecServerStream =
    grpc::ServerReaderWriter<v1::ExecuteResponse, v1::ExecuteRequest>;

// An ExecService whose answers a test sets before it calls.
class FakeExecs final : public v1::ExecService::Service {
 public:
  // Gets the stream behind its first message.
  Shared<std::function<grpc::Status(
      grpc::ServerContext&, const v1::ExecuteRequest&, ExecServerStream&)>>
      on_execute;
  Handler<v1::StartExecRequest, v1::StartExecResponse> on_start_exec;
  Handler<v1::PollExecRequest, v1::PollExecResponse> on_poll_exec;
  Handler<v1::ListExecsRequest, v1::ListExecsResponse> on_list_execs;
  Handler<v1::StopExecRequest, v1::StopExecResponse> on_stop_exec;
  Handler<v1::SignalExecRequest, v1::SignalExecResponse> on_signal_exec;

 private:
  grpc::Status Execute(grpc::ServerContext* context,
                       ExecServerStream* stream) override;
  grpc::Status StartExec(grpc::ServerContext*,
                         const v1::StartExecRequest* request,
                         v1::StartExecResponse* response) override;
  grpc::Status PollExec(grpc::ServerContext*,
                        const v1::PollExecRequest* request,
                        v1::PollExecResponse* response) override;
  grpc::Status ListExecs(grpc::ServerContext*,
                         const v1::ListExecsRequest* request,
                         v1::ListExecsResponse* response) override;
  grpc::Status StopExec(grpc::ServerContext*,
                        const v1::StopExecRequest* request,
                        v1::StopExecResponse* response) override;
  grpc::Status SignalExec(grpc::ServerContext*,
                          const v1::SignalExecRequest* request,
                          v1::SignalExecResponse* response) override;
};

// Events of a command's stream.
void SendExecStarted(ExecServerStream& stream, const std::string& exec_id);
void SendExecOutput(ExecServerStream& stream, v1::OutputStream which,
                    uint64_t offset, const std::string& data);
void SendExecEnd(ExecServerStream& stream, const v1::ExecEnd& end);
v1::ExecEnd ExitedWith(int code);
v1::ExecEnd KilledBy(int signal);

}  // namespace sandglass::client

#endif  // SANDGLASS_TESTS_CLIENT_FAKE_FAKE_EXECS_H_
