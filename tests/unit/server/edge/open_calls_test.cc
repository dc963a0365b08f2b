#include "server/edge/open_calls.h"

#include "gmock/gmock.h"
#include "grpcpp/server_context.h"
#include "gtest/gtest.h"
#include "server/base/errors.h"
#include "tests/unit/server/support.h"

namespace sandglass::server {
namespace {

using ::testing::HasSubstr;

TEST(OpenCalls, ATenantHasOnlySoManyStreams) {
  OpenCalls calls;
  grpc::ServerContext streams[3];
  for (const auto& each : streams) calls.BeginStream(&each);
  EXPECT_TRUE(calls.Admit(streams[0], User(1), 2).ok());
  EXPECT_TRUE(calls.Admit(streams[1], User(2), 2).ok());
  const absl::Status full = calls.Admit(streams[2], User(3), 2);
  EXPECT_EQ(ErrorReason(full), "TENANT_CEILING");
  EXPECT_THAT(std::string(full.message()), HasSubstr("ceilings.streams"));
  // Other calls don't count, nor do other tenants', nor one that was refused.
  grpc::ServerContext other;
  EXPECT_TRUE(calls.Admit(other, User(1), 2).ok());
  calls.End(&other);
  Identity elsewhere = User(1);
  elsewhere.tenant = "team-a";
  EXPECT_TRUE(calls.Admit(streams[2], elsewhere, 1).ok());
  calls.End(&streams[2]);
  calls.End(&streams[0]);
  calls.BeginStream(&streams[0]);
  EXPECT_TRUE(calls.Admit(streams[0], User(1), 2).ok());
  calls.BeginStream(&streams[2]);
  EXPECT_FALSE(calls.Admit(streams[2], User(1), 2).ok());
}

}  // namespace
}  // namespace sandglass::server
