#include "bench/session_client.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace sandglass::bench {
namespace {

constexpr absl::Duration kCallTime = absl::Seconds(30);
constexpr char kProgram[] = "print(1)";
constexpr size_t kPiece = size_t{256} << 10;

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                      status.error_message());
}

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(absl::ToChronoTime(absl::Now() + kCallTime));
}

}  // namespace

SessionClient::SessionClient(const std::string& address) {
  const auto channel =
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  runs_ = v1::SandboxService::NewStub(channel);
  sessions_ = v1::SessionService::NewStub(channel);
  files_ = v1::FileService::NewStub(channel);
  execs_ = v1::ExecService::NewStub(channel);
}

absl::Status SessionClient::Run(const std::string& session_id) {
  v1::RunCodeRequest request;
  request.set_language("python");
  request.set_code(kProgram);
  request.set_session_id(session_id);
  v1::RunCodeResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  absl::Status status = FromGrpc(runs_->RunCode(&context, request, &response));
  if (!status.ok()) return status;
  if (response.outcome() != v1::OUTCOME_OK ||
      response.stdout().data() != "1\n") {
    return absl::UnknownError(
        absl::StrCat("a run ended with ", v1::Outcome_Name(response.outcome()),
                     ": ", response.evidence().explanation()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> SessionClient::Create() {
  v1::CreateSessionRequest request;
  request.set_language("python");
  v1::CreateSessionResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  absl::Status status =
      FromGrpc(sessions_->CreateSession(&context, request, &response));
  if (!status.ok()) return status;
  return response.session().session_id();
}

absl::Status SessionClient::Delete(const std::string& session_id) {
  v1::DeleteSessionRequest request;
  request.set_session_id(session_id);
  v1::DeleteSessionResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  return FromGrpc(sessions_->DeleteSession(&context, request, &response));
}

absl::Status SessionClient::ExecTrue(const std::string& session_id) {
  v1::StartExecRequest request;
  request.mutable_spec()->set_session_id(session_id);
  request.mutable_spec()->add_argv("true");
  v1::StartExecResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  absl::Status status =
      FromGrpc(execs_->StartExec(&context, request, &response));
  if (!status.ok()) return status;
  const v1::ExecEnd& end = response.snapshot().exec().end();
  if (end.outcome() == v1::OUTCOME_OK) return absl::OkStatus();
  return absl::UnknownError(absl::StrCat("true ended with ",
                                         v1::Outcome_Name(end.outcome()), ": ",
                                         end.evidence().explanation()));
}

absl::Status SessionClient::Write(const std::string& session_id,
                                  const std::string& name, size_t bytes) {
  const std::string piece(std::min(kPiece, bytes), 'x');
  v1::WriteFileResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = files_->WriteFile(&context, &response);
  v1::WriteFileRequest request;
  request.mutable_start()->set_session_id(session_id);
  request.mutable_start()->set_path(name);
  bool open = stream->Write(request);
  for (size_t sent = 0; open && sent < bytes; sent += piece.size()) {
    request.set_data(piece);
    request.set_finish(sent + piece.size() >= bytes);
    open = stream->Write(request);
  }
  stream->WritesDone();
  absl::Status status = FromGrpc(stream->Finish());
  if (!status.ok()) return status;
  if (response.info().size() == bytes) return absl::OkStatus();
  return absl::UnknownError(
      absl::StrCat("wrote ", response.info().size(), " of ", bytes, " bytes"));
}

absl::Status SessionClient::Read(const std::string& session_id,
                                 const std::string& name, size_t bytes) {
  v1::ReadFileRequest request;
  request.set_session_id(session_id);
  request.set_path(name);
  grpc::ClientContext context;
  SetDeadline(context);
  const auto stream = files_->ReadFile(&context, request);
  v1::ReadFileResponse response;
  size_t count = 0;
  while (stream->Read(&response)) count += response.data().size();
  absl::Status status = FromGrpc(stream->Finish());
  if (!status.ok()) return status;
  if (count == bytes) return absl::OkStatus();
  return absl::UnknownError(
      absl::StrCat("read ", count, " of ", bytes, " bytes"));
}

absl::StatusOr<std::string> SessionClient::Fork(const std::string& session_id,
                                                const std::string& name,
                                                size_t bytes) {
  v1::ForkSessionRequest request;
  request.set_session_id(session_id);
  request.add_children();
  v1::ForkSessionResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  absl::Status status =
      FromGrpc(sessions_->ForkSession(&context, request, &response));
  if (!status.ok()) return status;
  if (response.sessions().size() != 1) {
    return absl::UnknownError("a fork made no session");
  }
  const std::string& child = response.sessions(0).session_id();
  v1::StatFileRequest stat;
  stat.set_session_id(child);
  stat.set_path(name);
  v1::StatFileResponse facts;
  grpc::ClientContext stat_context;
  SetDeadline(stat_context);
  status = FromGrpc(files_->StatFile(&stat_context, stat, &facts));
  if (!status.ok()) return status;
  if (facts.info().size() == bytes) return child;
  return absl::UnknownError(absl::StrCat("a child has ", facts.info().size(),
                                         " of ", bytes, " bytes of ", name));
}

}  // namespace sandglass::bench
