#include <functional>
#include <memory>
#include <utility>

#include "sandglass/v1/sandbox_service.grpc.pb.h"
#include "server/edge/unary_call.h"
#include "server/rpc/run_calls.h"
#include "server/rpc/services.h"

namespace sandglass::server {
namespace {

using RawSandboxService = v1::SandboxService::WithRawCallbackMethod_RunCode<
    v1::SandboxService::WithRawCallbackMethod_StreamRunCode<
        v1::SandboxService::WithRawCallbackMethod_ListRuns<
            v1::SandboxService::WithRawCallbackMethod_CancelRun<
                v1::SandboxService::WithRawCallbackMethod_GetServerInfo<
                    v1::SandboxService::Service>>>>>;

class SandboxServiceImpl final : public RawSandboxService {
 public:
  SandboxServiceImpl(RunDispatcher& dispatcher, const PeerTable& peers,
                     const ServerInfoSources& info,
                     uint64_t stream_budget_bytes)
      : dispatcher_(dispatcher),
        peers_(peers),
        info_(info),
        budget_(stream_budget_bytes) {}

  UnaryReactor* RunCode(CallContext* context, const Bytes* request,
                        Bytes* response) override {
    v1::RunCodeRequest message;
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, message);
    if (!caller.ok()) return Refuse(context, caller.status());
    if (absl::Status may = MayRun(*caller, message); !may.ok()) {
      return Refuse(context, may);
    }
    auto* call = new UnaryRunCall(dispatcher_, peers_.answers(), response);
    call->Start(*caller, std::move(message), DeadlineOf(*context));
    return call;
  }

  WriteReactor* StreamRunCode(CallContext* context,
                              const Bytes* request) override {
    v1::StreamRunCodeRequest message;
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, message);
    if (!caller.ok()) return new RefusedCall<WriteReactor>(caller.status());
    if (absl::Status may = MayRun(*caller, message.run()); !may.ok()) {
      return new RefusedCall<WriteReactor>(may);
    }
    auto* call = new StreamRunCall(dispatcher_, budget_.ShareOf(*caller),
                                   peers_.answers());
    call->Start(*caller, std::move(*message.mutable_run()),
                DeadlineOf(*context));
    return call;
  }

  UnaryReactor* ListRuns(CallContext* context, const Bytes* request,
                         Bytes* response) override {
    return Serve<v1::ListRunsRequest>(
        peers_, context, request, response,
        std::bind_front(&RunDispatcher::List, &dispatcher_));
  }

  UnaryReactor* CancelRun(CallContext* context, const Bytes* request,
                          Bytes* response) override {
    return Serve<v1::CancelRunRequest>(
        peers_, context, request, response,
        [this](const Identity& caller,
               const auto& message) -> absl::StatusOr<v1::CancelRunResponse> {
          absl::StatusOr<v1::RunSummary> summary =
              dispatcher_.Cancel(caller, message.run_id());
          if (!summary.ok()) return summary.status();
          v1::CancelRunResponse answer;
          *answer.mutable_run() = *std::move(summary);
          return answer;
        });
  }

  UnaryReactor* GetServerInfo(CallContext* context, const Bytes* request,
                              Bytes* response) override {
    return Serve<v1::GetServerInfoRequest>(
        peers_, context, request, response,
        [this](const Identity&, const auto&) { return MakeServerInfo(info_); });
  }

 private:
  // A run in a session changes the session, too.
  absl::Status MayRun(const Identity& caller,
                      const v1::RunCodeRequest& run) const {
    if (run.session_id().empty()) return absl::OkStatus();
    return peers_.credentials().Authorise(caller, Changes(Scope::kSessions));
  }

  RunDispatcher& dispatcher_;
  const PeerTable& peers_;
  const ServerInfoSources& info_;
  StreamBudget budget_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSandboxService(
    RunDispatcher& dispatcher, const PeerTable& peers,
    const ServerInfoSources& info, uint64_t stream_budget_bytes) {
  return std::make_unique<SandboxServiceImpl>(dispatcher, peers, info,
                                              stream_budget_bytes);
}

}  // namespace sandglass::server
