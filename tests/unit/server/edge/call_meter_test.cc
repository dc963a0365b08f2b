#include "server/edge/call_meter.h"

#include "gtest/gtest.h"

namespace sandglass::server {
namespace {

TEST(CallMeter, CountsMethodsThatClientsMakeUpAsOne) {
  for (const char* known : {"/sandglass.v1.SandboxService/RunCode",
                            "/sandglass.v1.OperatorService/GetStatus",
                            "/grpc.health.v1.Health/Check"}) {
    EXPECT_STREQ(MeteredMethod(known), known);
  }
  for (const char* unknown :
       {"/a.B/c", "/sandglass.v1.SandboxService/None", "", "/", "//", "x",
        "/grpc.health.v1.Health/Else", "/sandglass.v1.SandboxService/"}) {
    EXPECT_STREQ(MeteredMethod(unknown), "/unknown/unknown");
  }
}

}  // namespace
}  // namespace sandglass::server
