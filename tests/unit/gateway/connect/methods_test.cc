#include "gateway/connect/methods.h"

#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sandglass/v1/exec.pb.h"
#include "sandglass/v1/files.pb.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::gateway {
namespace {

using ::testing::UnorderedElementsAre;

TEST(ConnectMethods, EachIsFoundByItsPathWithItsTypes) {
  const Method* const run = FindMethod("/sandglass.v1.SandboxService/RunCode");
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->request, v1::RunCodeRequest::descriptor());
  EXPECT_EQ(run->response, v1::RunCodeResponse::descriptor());
  EXPECT_TRUE(run->unary());
  EXPECT_FALSE(run->no_side_effects);
  EXPECT_GE(ApiMethods().size(), 50u);
  for (const Method& method : ApiMethods()) {
    EXPECT_EQ(FindMethod(method.path), &method) << method.path;
  }
}

TEST(ConnectMethods, EachServiceOfTheApiIsThere) {
  std::set<std::string> services;
  for (const Method& method : ApiMethods()) {
    services.insert(method.descriptor->service()->name());
  }
  EXPECT_THAT(services, UnorderedElementsAre("SandboxService", "SessionService",
                                             "FileService", "ExecService",
                                             "PolicyService", "PortService",
                                             "LayerService", "OperatorService",
                                             "IdentityService"));
}

TEST(ConnectMethods, StreamsAreToldApart) {
  const Method* const write = FindMethod("/sandglass.v1.FileService/WriteFile");
  ASSERT_NE(write, nullptr);
  EXPECT_TRUE(write->client_streams);
  EXPECT_FALSE(write->server_streams);
  const Method* const read = FindMethod("/sandglass.v1.FileService/ReadFile");
  ASSERT_NE(read, nullptr);
  EXPECT_FALSE(read->client_streams);
  EXPECT_TRUE(read->server_streams);
  const Method* const both = FindMethod("/sandglass.v1.ExecService/Execute");
  ASSERT_NE(both, nullptr);
  EXPECT_TRUE(both->client_streams && both->server_streams);
  EXPECT_EQ(both->request, v1::ExecuteRequest::descriptor());
}

TEST(ConnectMethods, OtherPathsAreNone) {
  for (const char* path :
       {"", "/", "sandglass.v1.SandboxService/RunCode",
        "/sandglass.v1.SandboxService/RunCode/",
        "/sandglass.v1.SandboxService/runCode",
        "/sandglass.v1.SandboxService.RunCode", "/grpc.health.v1.Health/Check",
        "//sandglass.v1.SandboxService/RunCode"}) {
    EXPECT_EQ(FindMethod(path), nullptr) << path;
  }
}

TEST(ConnectMethods, ThoseWithoutSideEffectsAreUnaryAndReadOnly) {
  std::set<std::string> names;
  for (const Method& method : ApiMethods()) {
    if (!method.no_side_effects) continue;
    EXPECT_TRUE(method.unary()) << method.path;
    names.insert(method.descriptor->name());
  }
  EXPECT_THAT(names,
              UnorderedElementsAre("GetServerInfo", "ListRuns", "GetSession",
                                   "ListSessions", "ListExecs", "ListApprovals",
                                   "GetApproval", "ListLayers", "GetStatus",
                                   "GetUsage", "WhoAmI", "ListTokens"));
}

}  // namespace
}  // namespace sandglass::gateway
