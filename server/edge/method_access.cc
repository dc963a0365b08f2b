#include "server/edge/method_access.h"

#include <map>

#include "sandglass/v1/exec.pb.h"
#include "sandglass/v1/files.pb.h"
#include "sandglass/v1/identity.pb.h"
#include "sandglass/v1/layer.pb.h"
#include "sandglass/v1/operator.pb.h"
#include "sandglass/v1/policy.pb.h"
#include "sandglass/v1/port.pb.h"
#include "sandglass/v1/run.pb.h"
#include "sandglass/v1/server_info.pb.h"
#include "sandglass/v1/session.pb.h"

namespace sandglass::server {
namespace {

using Table = std::map<const google::protobuf::Descriptor*, Access>;

template <typename... Requests>
void Put(Table& table, const Access& access) {
  (table.emplace(Requests::descriptor(), access), ...);
}

// Whether a caller sees what a request names is for the rooms below to say;
// the same for runs in sessions and for what only approvers may do.
Table MakeTable() {
  Table table;
  Put<v1::GetServerInfoRequest, v1::WhoAmIRequest, v1::GetStatusRequest,
      v1::GetUsageRequest, v1::ListApprovalsRequest, v1::GetApprovalRequest>(
      table, kForEverybody);
  Put<v1::ApproveRequest, v1::DenyRequest, v1::RemoveLayerRequest>(
      table, {std::nullopt, true});
  Put<v1::ListRunsRequest, v1::TestRunRequest, v1::CheckProfileRequest,
      v1::ListLayersRequest>(table, Reads(Scope::kRun));
  Put<v1::RunCodeRequest, v1::StreamRunCodeRequest, v1::CancelRunRequest,
      v1::BuildLayerRequest>(table, Changes(Scope::kRun));
  Put<v1::GetSessionRequest, v1::ListSessionsRequest>(table,
                                                      Reads(Scope::kSessions));
  Put<v1::CreateSessionRequest, v1::GetOrCreateSessionRequest,
      v1::UpdateSessionRequest, v1::PauseSessionRequest,
      v1::ResumeSessionRequest, v1::DeleteSessionRequest,
      v1::InterruptKernelRequest, v1::RestartKernelRequest,
      v1::ForkSessionRequest>(table, Changes(Scope::kSessions));
  Put<v1::ReadFileRequest, v1::DownloadFilesRequest, v1::ListDirectoryRequest,
      v1::StatFileRequest, v1::GlobFilesRequest, v1::GrepFilesRequest,
      v1::WatchFilesRequest, v1::SnapshotFilesRequest>(table,
                                                       Reads(Scope::kFiles));
  Put<v1::WriteFileRequest, v1::UploadFilesRequest, v1::RemoveFileRequest,
      v1::MoveFileRequest, v1::MakeDirectoryRequest, v1::EditFileRequest,
      v1::RestoreFilesRequest>(table, Changes(Scope::kFiles));
  Put<v1::PollExecRequest, v1::ListExecsRequest>(table, Reads(Scope::kExec));
  Put<v1::ExecuteRequest, v1::StartExecRequest, v1::StopExecRequest,
      v1::SignalExecRequest, v1::ForwardRequest, v1::CreateLinkRequest>(
      table, Changes(Scope::kExec));
  Put<v1::ListTokensRequest>(table, Reads(Scope::kAdmin));
  Put<v1::CreateTokenRequest, v1::RevokeTokenRequest>(table,
                                                      Changes(Scope::kAdmin));
  return table;
}

}  // namespace

std::optional<Access> AccessOf(const google::protobuf::Descriptor* request) {
  static const Table* const table = new Table(MakeTable());
  const auto access = table->find(request);
  if (access == table->end()) return std::nullopt;
  return access->second;
}

}  // namespace sandglass::server
