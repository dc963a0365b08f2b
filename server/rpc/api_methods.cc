#include "server/rpc/api_methods.h"

#include "google/protobuf/descriptor.h"
#include "sandglass/v1/exec_service.pb.h"
#include "sandglass/v1/file_service.pb.h"
#include "sandglass/v1/layer_service.pb.h"
#include "sandglass/v1/operator_service.pb.h"
#include "sandglass/v1/policy_service.pb.h"
#include "sandglass/v1/sandbox_service.pb.h"
#include "sandglass/v1/session_service.pb.h"

namespace sandglass::server {
namespace {

// Nothing else refers to these files, which only describe services, so a linker
// would leave them out of the archive, and their descriptors with them.
[[gnu::used]] const void* const kDescribed[] = {
    &descriptor_table_sandglass_2fv1_2fsandbox_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fsession_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2ffile_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fexec_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2fpolicy_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2flayer_5fservice_2eproto,
    &descriptor_table_sandglass_2fv1_2foperator_5fservice_2eproto,
};

}  // namespace

bool IsApiMethod(const std::string& name) {
  return google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
             name) != nullptr;
}

}  // namespace sandglass::server
