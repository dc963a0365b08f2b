#include "client/connection/call_metadata.h"

#include <utility>

namespace sandglass::client {
namespace {

namespace gx = grpc::experimental;

class Sender final : public gx::Interceptor {
 public:
  explicit Sender(const std::vector<CallMetadata>& metadata)
      : metadata_(metadata) {}

  void Intercept(gx::InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            gx::InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      auto& sent = *methods->GetSendInitialMetadata();
      for (const CallMetadata& each : metadata_) {
        if (sent.find(each.name) == sent.end()) {
          sent.emplace(each.name, each.value);
        }
      }
    }
    methods->Proceed();
  }

 private:
  const std::vector<CallMetadata>& metadata_;
};

class SenderFactory final : public gx::ClientInterceptorFactoryInterface {
 public:
  explicit SenderFactory(std::vector<CallMetadata> metadata)
      : metadata_(std::move(metadata)) {}

  // The caller owns the result, which must not outlive the channel's calls.
  gx::Interceptor* CreateClientInterceptor(gx::ClientRpcInfo*) override {
    return std::make_unique<Sender>(metadata_).release();
  }

 private:
  const std::vector<CallMetadata> metadata_;
};

}  // namespace

std::vector<std::unique_ptr<gx::ClientInterceptorFactoryInterface>>
SendMetadata(std::vector<CallMetadata> metadata) {
  std::vector<std::unique_ptr<gx::ClientInterceptorFactoryInterface>> all;
  if (!metadata.empty()) {
    all.push_back(std::make_unique<SenderFactory>(std::move(metadata)));
  }
  return all;
}

}  // namespace sandglass::client
