#include "server/base/api_services.h"

#include "google/protobuf/generated_message_reflection.h"
#include "sandglass/v1/exec_service.pb.h"
#include "sandglass/v1/file_service.pb.h"
#include "sandglass/v1/identity_service.pb.h"
#include "sandglass/v1/layer_service.pb.h"
#include "sandglass/v1/operator_service.pb.h"
#include "sandglass/v1/policy_service.pb.h"
#include "sandglass/v1/port_service.pb.h"
#include "sandglass/v1/sandbox_service.pb.h"
#include "sandglass/v1/session_service.pb.h"

namespace sandglass::server {
namespace {

using google::protobuf::ServiceDescriptor;

// Nothing else refers to these files, which only describe services, so a linker
// would leave them out of the archive, and their descriptors with them.
constexpr const google::protobuf::internal::DescriptorTable* kDescribed[] = {
    &descriptor_table_sandglass_2fv1_2fsandbox_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fsession_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2ffile_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fexec_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fport_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fpolicy_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2flayer_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2foperator_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fidentity_5fservice_2eproto,
};

std::vector<const ServiceDescriptor*> FindServices() {
  std::vector<const ServiceDescriptor*> services;
  for (const auto* table : kDescribed) {
    const auto* const file =
        google::protobuf::DescriptorPool::generated_pool()->FindFileByName(
            table->filename);
    for (int i = 0; i < file->service_count(); ++i) {
      services.push_back(file->service(i));
    }
  }
  return services;
}

}  // namespace

const std::vector<const ServiceDescriptor*>& ApiServices() {
  static const auto* const services =
      new std::vector<const ServiceDescriptor*>(FindServices());
  return *services;
}

}  // namespace sandglass::server
