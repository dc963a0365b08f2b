#include "gateway/proxy/method_routes.h"

#include "gtest/gtest.h"

namespace sandglass::gateway {
namespace {

Route RouteOf(const char* path) {
  const MethodRoute* route = FindRoute(path);
  EXPECT_NE(route, nullptr) << path;
  return route == nullptr ? Route::kNamed : route->route;
}

TEST(MethodRoutes, SayWhereEachMethodGoes) {
  EXPECT_EQ(RouteOf("/sandglass.v1.SandboxService/RunCode"), Route::kRun);
  EXPECT_EQ(RouteOf("/sandglass.v1.SandboxService/StreamRunCode"), Route::kRun);
  EXPECT_EQ(RouteOf("/sandglass.v1.SessionService/CreateSession"),
            Route::kSession);
  EXPECT_EQ(RouteOf("/sandglass.v1.SessionService/ListSessions"),
            Route::kEvery);
  EXPECT_EQ(RouteOf("/sandglass.v1.SessionService/GetOrCreateSession"),
            Route::kNamesake);
  EXPECT_EQ(RouteOf("/sandglass.v1.SandboxService/GetServerInfo"), Route::kAny);
  EXPECT_EQ(RouteOf("/sandglass.v1.ExecService/Execute"), Route::kNamed);
  EXPECT_TRUE(FindRoute("/sandglass.v1.ExecService/Execute")
                  ->method->client_streaming());
}

TEST(MethodRoutes, WhatTheGatewayDoesNotPassOnHasNone) {
  for (const char* path :
       {"", "/", "/sandglass.v1.IdentityService/WhoAmI",
        "/sandglass.node.v1.NodeService/WatchLoad",
        "/grpc.health.v1.Health/Check", "/sandglass.v1.SandboxService/None",
        "sandglass.v1.SandboxService/RunCode"}) {
    EXPECT_EQ(FindRoute(path), nullptr) << path;
  }
}

}  // namespace
}  // namespace sandglass::gateway
