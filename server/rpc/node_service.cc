#include "server/rpc/node_service.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "google/protobuf/util/message_differencer.h"
#include "sandglass/node/v1/node_service.grpc.pb.h"
#include "server/base/random_id.h"
#include "server/edge/unary_call.h"
#include "server/identity/identity_errors.h"

namespace sandglass::server {
namespace {

using google::protobuf::util::MessageDifferencer;
using RawNodeService = node::v1::NodeService::WithRawCallbackMethod_WatchLoad<
    node::v1::NodeService::Service>;

// One WatchLoad: reads a question, answers it, and reads the next. OnDone
// deletes it.
class WatchLoadCall final : public BidiReactor {
 public:
  WatchLoadCall(const NodeReport& report, const std::string& instance)
      : report_(report), instance_(instance) {
    StartRead(&request_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok || report_.over()) return Finish(grpc::Status::OK);
    node::v1::WatchLoadResponse response;
    response.set_node(report_.name);
    response.set_instance(instance_);
    *response.mutable_load() = report_.load();
    node::v1::Offer offer = report_.offer();
    if (!offered_.has_value() ||
        !MessageDifferencer::Equals(offer, *offered_)) {
      *response.mutable_offer() = offer;
      offered_ = std::move(offer);
    }
    absl::StatusOr<Bytes> bytes = SerializeMessage(response);
    if (!bytes.ok()) return Finish(ToGrpcStatus(bytes.status()));
    answer_ = *std::move(bytes);
    StartWrite(&answer_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

  const NodeReport& report_;
  const std::string& instance_;
  Bytes request_, answer_;
  std::optional<node::v1::Offer> offered_;  // as it was told last
};

class NodeServiceImpl final : public RawNodeService {
 public:
  NodeServiceImpl(NodeReport report, const PeerTable& peers)
      : report_(std::move(report)), peers_(peers) {}

  BidiReactor* WatchLoad(CallContext* context) override {
    const std::optional<Identity> connection =
        peers_.CallerOf(PeerTable::PeerOf(*context));
    if (!connection.has_value() || !connection->is_gateway) {
      return new RefusedCall<BidiReactor>(NotAGateway());
    }
    return new WatchLoadCall(report_, instance_);
  }

 private:
  const NodeReport report_;
  const std::string instance_ = RandomId("", 8);
  const PeerTable& peers_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeNodeService(NodeReport report,
                                               const PeerTable& peers) {
  return std::make_unique<NodeServiceImpl>(std::move(report), peers);
}

}  // namespace sandglass::server
