#include "tests/client/fake/fake_execs.h"

namespace sandglass::client {

grpc::Status FakeExecs::Execute(grpc::ServerContext* context,
                                ExecServerStream* stream) {
  v1::ExecuteRequest first;
  const auto function = on_execute.Get();
  if (function == nullptr || !stream->Read(&first)) {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "not set");
  }
  return function(*context, first, *stream);
}

grpc::Status FakeExecs::StartExec(grpc::ServerContext*,
                                  const v1::StartExecRequest* request,
                                  v1::StartExecResponse* response) {
  return AnswerBy(on_start_exec, *request, *response);
}

grpc::Status FakeExecs::PollExec(grpc::ServerContext*,
                                 const v1::PollExecRequest* request,
                                 v1::PollExecResponse* response) {
  return AnswerBy(on_poll_exec, *request, *response);
}

grpc::Status FakeExecs::ListExecs(grpc::ServerContext*,
                                  const v1::ListExecsRequest* request,
                                  v1::ListExecsResponse* response) {
  return AnswerBy(on_list_execs, *request, *response);
}

grpc::Status FakeExecs::StopExec(grpc::ServerContext*,
                                 const v1::StopExecRequest* request,
                                 v1::StopExecResponse* response) {
  return AnswerBy(on_stop_exec, *request, *response);
}

grpc::Status FakeExecs::SignalExec(grpc::ServerContext*,
                                   const v1::SignalExecRequest* request,
                                   v1::SignalExecResponse* response) {
  return AnswerBy(on_signal_exec, *request, *response);
}

void SendExecStarted(ExecServerStream& stream, const std::string& exec_id) {
  v1::ExecuteResponse event;
  event.mutable_started()->mutable_exec()->set_exec_id(exec_id);
  stream.Write(event);
}

void SendExecOutput(ExecServerStream& stream, v1::OutputStream which,
                    uint64_t offset, const std::string& data) {
  v1::ExecuteResponse event;
  event.mutable_output()->set_stream(which);
  event.mutable_output()->set_offset(offset);
  event.mutable_output()->set_data(data);
  stream.Write(event);
}

void SendExecEnd(ExecServerStream& stream, const v1::ExecEnd& end) {
  v1::ExecuteResponse event;
  *event.mutable_end() = end;
  stream.Write(event);
}

v1::ExecEnd ExitedWith(int code) {
  v1::ExecEnd end;
  end.set_outcome(code == 0 ? v1::OUTCOME_OK : v1::OUTCOME_NONZERO_EXIT);
  end.set_exit_code(code);
  return end;
}

v1::ExecEnd KilledBy(int signal) {
  v1::ExecEnd end;
  end.set_outcome(v1::OUTCOME_SIGNALED);
  end.mutable_signal()->set_number(signal);
  return end;
}

}  // namespace sandglass::client
