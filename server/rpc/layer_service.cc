#include <deque>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "sandglass/v1/layer_service.grpc.pb.h"
#include "server/base/cancel_token.h"
#include "server/base/errors.h"
#include "server/edge/queued_answers_call.h"
#include "server/edge/unary_call.h"
#include "server/rpc/services.h"

namespace sandglass::server {
namespace {

// The most lines that wait for a slow client; further ones are left out.
constexpr size_t kMaxWaitingLines = 1000;
// The keys under which calls other than builds wait, and builds.
constexpr char kShortKey[] = "layers";
constexpr char kBuildKey[] = "layer builds";

// One BuildLayer. A slow client never delays the install.
class BuildLayerCall final : public QueuedAnswersCall {
 public:
  // `admin` must outlive the call.
  explicit BuildLayerCall(LayerAdmin& admin) : admin_(admin) {}

  void Start(CallThreads& threads, const Identity& caller,
             v1::BuildLayerRequest&& request) {
    const uint64_t bytes = request.ByteSizeLong();
    const absl::Status added =
        threads.Add({caller.name, kBuildKey}, bytes,
                    [this, caller, request = std::move(request)] {
                      Build(caller, request);
                    });
    if (!added.ok()) Close(added);
  }

 private:
  void Build(const Identity& caller, const v1::BuildLayerRequest& request) {
    const absl::StatusOr<v1::LayerBuilt> built = admin_.Build(
        caller, request,
        [this](std::string_view line) {
          v1::BuildLayerResponse event;
          event.mutable_progress()->set_line(std::string(line));
          Push(event);
        },
        cancel_);
    if (built.ok()) {
      v1::BuildLayerResponse event;
      *event.mutable_built() = *built;
      Push(event);
    }
    Close(absl::IsCancelled(built.status()) ? CallerGone() : built.status());
  }

  void Push(const v1::BuildLayerResponse& event) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::StatusOr<Bytes> bytes = SerializeMessage(event);
    if (!bytes.ok()) return;
    Change([&] {
      mutex_.AssertHeld();
      if (event.has_progress() && queue_.size() >= kMaxWaitingLines) {
        return false;
      }
      queue_.push_back(*std::move(bytes));
      return true;
    });
  }
  bool TakeNext(Bytes& answer) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (queue_.empty()) return false;
    answer = queue_.front();
    queue_.pop_front();
    return true;
  }
  void OnCancel() override { cancel_.Cancel(policy::KillReason::kCancelled); }

  LayerAdmin& admin_;
  CancelToken cancel_;
  std::deque<Bytes> queue_ ABSL_GUARDED_BY(mutex_);
};

using RawLayerService = v1::LayerService::WithRawCallbackMethod_ListLayers<
    v1::LayerService::WithRawCallbackMethod_BuildLayer<
        v1::LayerService::WithRawCallbackMethod_RemoveLayer<
            v1::LayerService::Service>>>;

class LayerServiceImpl final : public RawLayerService {
 public:
  LayerServiceImpl(LayerAdmin& admin, CallThreads& threads,
                   const PeerTable& peers)
      : admin_(admin), threads_(threads), peers_(peers) {}

  UnaryReactor* ListLayers(CallContext* context, const Bytes* request,
                           Bytes* response) override {
    v1::ListLayersRequest message;
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, message);
    if (!caller.ok()) return Refuse(context, caller.status());
    auto* call = new AnsweredCall(peers_, *caller, response);
    call->EndOn(threads_, {caller->name, kShortKey}, message.ByteSizeLong(),
                [this, caller = *caller, message] {
                  return Serialize(admin_.List(caller, message));
                });
    return call;
  }

  UnaryReactor* RemoveLayer(CallContext* context, const Bytes* request,
                            Bytes* response) override {
    v1::RemoveLayerRequest message;
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, message);
    if (!caller.ok()) return Refuse(context, caller.status());
    auto* call = new AnsweredCall(peers_, *caller, response);
    call->EndOn(threads_, {caller->name, kShortKey}, message.ByteSizeLong(),
                [this, caller = *caller, message] {
                  return Serialize(admin_.Remove(caller, message));
                });
    return call;
  }

  WriteReactor* BuildLayer(CallContext* context,
                           const Bytes* request) override {
    v1::BuildLayerRequest message;
    const absl::StatusOr<Identity> caller =
        Receive(peers_, *context, *request, message);
    auto* call = new BuildLayerCall(admin_);
    if (caller.ok()) {
      call->Start(threads_, *caller, std::move(message));
    } else {
      call->Close(caller.status());
    }
    return call;
  }

 private:
  LayerAdmin& admin_;
  CallThreads& threads_;
  const PeerTable& peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeLayerService(LayerAdmin& admin,
                                                CallThreads& threads,
                                                const PeerTable& peers) {
  return std::make_unique<LayerServiceImpl>(admin, threads, peers);
}

}  // namespace sandglass::server
