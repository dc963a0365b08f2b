#include "server/edge/method_access.h"

#include <set>
#include <string>

#include "google/protobuf/descriptor.pb.h"
#include "gtest/gtest.h"
#include "server/base/api_services.h"

namespace sandglass::server {
namespace {

TEST(MethodAccess, EachMethodOfTheApiIsInTheTableByARequestOfItsOwn) {
  std::set<std::string> requests;
  int methods = 0;
  for (const auto* service : ApiServices()) {
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

// Such a method may come by HTTP's GET, which anything repeats and fetches
// ahead.
TEST(MethodAccess, WhatItsProtoFileSaysToHaveNoSideEffectsChangesNothing) {
  int methods = 0;
  for (const auto* service : ApiServices()) {
    for (int i = 0; i < service->method_count(); ++i) {
      const auto* method = service->method(i);
      if (method->options().idempotency_level() !=
          google::protobuf::MethodOptions::NO_SIDE_EFFECTS) {
        continue;
      }
      const auto access = AccessOf(method->input_type());
      ASSERT_TRUE(access.has_value()) << method->full_name();
      EXPECT_FALSE(access->changes) << method->full_name();
      ++methods;
    }
  }
  EXPECT_GE(methods, 10);
}

}  // namespace
}  // namespace sandglass::server
