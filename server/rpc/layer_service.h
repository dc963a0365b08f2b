#ifndef SANDGLASS_SERVER_RPC_LAYER_SERVICE_H_
#define SANDGLASS_SERVER_RPC_LAYER_SERVICE_H_

#include "sandglass/v1/layer_service.grpc.pb.h"
#include "server/base/call_threads.h"
#include "server/libraries/layer_admin.h"
#include "server/rpc/peers.h"

namespace sandglass::server {

using RawLayerService = v1::LayerService::WithRawCallbackMethod_ListLayers<
    v1::LayerService::WithRawCallbackMethod_BuildLayer<
        v1::LayerService::WithRawCallbackMethod_RemoveLayer<
            v1::LayerService::Service>>>;

// The public service of installed libraries. Its methods run on gRPC's threads
// and never block: the calls wait on `threads`.
class LayerServiceImpl final : public RawLayerService {
 public:
  // All arguments must outlive the service.
  LayerServiceImpl(LayerAdmin& admin, CallThreads& threads,
                   const PeerTable& peers)
      : admin_(admin), threads_(threads), peers_(peers) {}

  grpc::ServerUnaryReactor* ListLayers(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* response) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* BuildLayer(
      grpc::CallbackServerContext* context,
      const grpc::ByteBuffer* request) override;
  grpc::ServerUnaryReactor* RemoveLayer(grpc::CallbackServerContext* context,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* response) override;

 private:
  LayerAdmin& admin_;
  CallThreads& threads_;
  const PeerTable& peers_;
};

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RPC_LAYER_SERVICE_H_
