#include "server/rpc/call_metrics.h"

#include <string>

#include "google/protobuf/descriptor.h"
#include "sandglass/v1/exec_service.pb.h"
#include "sandglass/v1/file_service.pb.h"
#include "sandglass/v1/identity_service.pb.h"
#include "sandglass/v1/layer_service.pb.h"
#include "sandglass/v1/operator_service.pb.h"
#include "sandglass/v1/policy_service.pb.h"
#include "sandglass/v1/sandbox_service.pb.h"
#include "sandglass/v1/session_service.pb.h"
#include "server/base/clock.h"

namespace sandglass::server {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using grpc::experimental::ServerRpcInfo;

// Nothing else refers to these files, which only describe services, so a linker
// would leave them out of the archive, and their descriptors with them. Server
// reflection needs them as well.
[[gnu::used]] const void* const kDescribed[] = {
    &descriptor_table_sandglass_2fv1_2fsandbox_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fsession_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2ffile_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fexec_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fpolicy_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2flayer_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2foperator_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fidentity_5fservice_2eproto,
};

// Whether the API has a method of this name, for example
// "sandglass.v1.SandboxService.RunCode".
bool IsApiMethod(const std::string& name) {
  return google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
             name) != nullptr;
}

// Measures one call, from its arrival to the status that is sent.
class CallMeter final : public grpc::experimental::Interceptor {
 public:
  CallMeter(Metrics& metrics, const char* method)
      : metrics_(metrics), method_(MeteredMethod(method)) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(
            InterceptionHookPoints::PRE_SEND_STATUS)) {
      metrics_.RecordCall(
          method_, static_cast<int>(methods->GetSendStatus().error_code()),
          Since(began_));
    }
    methods->Proceed();
  }

 private:
  Metrics& metrics_;
  const char* const method_;  // lives as long as the call
  const MonotonicTime began_ = Now();
};

class CallMeterFactory final
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CallMeterFactory(Metrics& metrics) : metrics_(metrics) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      ServerRpcInfo* info) override {
    return new CallMeter(metrics_, info->method());
  }

 private:
  Metrics& metrics_;
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
MakeCallMetrics(Metrics& metrics) {
  return std::make_unique<CallMeterFactory>(metrics);
}

}  // namespace sandglass::server
