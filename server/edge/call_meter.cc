#include "server/edge/call_meter.h"

#include <string>
#include <utility>

#include "google/protobuf/descriptor.h"
#include "server/base/api_services.h"
#include "server/base/clock.h"

namespace sandglass::server {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

// Whether the API has a method of this name, for example
// "sandglass.v1.SandboxService.RunCode".
bool IsApiMethod(const std::string& name) {
  // The descriptors are there because this refers to them.
  return !ApiServices().empty() &&
         google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
             name) != nullptr;
}

// Measures one call, from its arrival to the status that is sent.
class CallMeter final : public grpc::experimental::Interceptor {
 public:
  CallMeter(const CallRecorder& record, OpenCalls* calls, ServerRpcInfo& info)
      : record_(record),
        calls_(calls),
        context_(info.server_context()),
        method_(MeteredMethod(info.method())) {
    if (calls_ == nullptr || info.type() == ServerRpcInfo::Type::UNARY) return;
    calls_->BeginStream(context_);
  }
  // gRPC destroys it when the call is over, just before its context.
  ~CallMeter() override {
    if (calls_ != nullptr) calls_->End(context_);
  }

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::PRE_SEND_STATUS)) {
      record_(method_, static_cast<int>(methods->GetSendStatus().error_code()),
              Since(began_));
    }
    methods->Proceed();
  }

 private:
  const CallRecorder& record_;
  OpenCalls* const calls_;
  const grpc::ServerContextBase* const context_;
  const char* const method_;  // lives as long as the call
  const MonotonicTime began_ = Now();
};

class CallMeterFactory final
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  CallMeterFactory(CallRecorder record, OpenCalls* calls)
      : record_(std::move(record)), calls_(calls) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      ServerRpcInfo* info) override {
    return new CallMeter(record_, calls_, *info);
  }

 private:
  const CallRecorder record_;
  OpenCalls* const calls_;
};

}  // namespace

const char* MeteredMethod(const char* method) {
  std::string name(method);
  const size_t slash = name.rfind('/');
  if (slash != std::string::npos && slash > 0) {
    // These are gRPC's own methods, which aren't made from a descriptor.
    if (name == "/grpc.health.v1.Health/Check" ||
        name == "/grpc.health.v1.Health/Watch") {
      return method;
    }
    name[slash] = '.';
    if (IsApiMethod(name.substr(1))) return method;
  }
  return "/unknown/unknown";
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
MakeCallMeter(CallRecorder record, OpenCalls* calls) {
  return std::make_unique<CallMeterFactory>(std::move(record), calls);
}

}  // namespace sandglass::server
