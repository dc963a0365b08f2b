#include "server/edge/method_access.h"

#include <set>
#include <string>

#include "gtest/gtest.h"
#include "sandglass/v1/exec_service.pb.h"
#include "sandglass/v1/file_service.pb.h"
#include "sandglass/v1/identity_service.pb.h"
#include "sandglass/v1/layer_service.pb.h"
#include "sandglass/v1/operator_service.pb.h"
#include "sandglass/v1/policy_service.pb.h"
#include "sandglass/v1/sandbox_service.pb.h"
#include "sandglass/v1/session_service.pb.h"

namespace sandglass::server {
namespace {

TEST(MethodAccess, EachMethodOfTheApiIsInTheTableByARequestOfItsOwn) {
  std::set<std::string> requests;
  int methods = 0;
  for (const char* name : {"SandboxService", "SessionService", "FileService",
                           "ExecService", "PolicyService", "LayerService",
                           "OperatorService", "IdentityService"}) {
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            std::string("sandglass.v1.") + name);
    ASSERT_NE(service, nullptr) << name;
    for (int i = 0; i < service->method_count(); ++i) {
      const auto* method = service->method(i);
      EXPECT_TRUE(AccessOf(method->input_type()).has_value())
          << method->full_name();
      requests.insert(method->input_type()->full_name());
      ++methods;
    }
  }
  EXPECT_GE(methods, 50);
  EXPECT_EQ(requests.size(), static_cast<size_t>(methods));
  EXPECT_FALSE(AccessOf(nullptr).has_value());
}

}  // namespace
}  // namespace sandglass::server
