#include "gateway/proxy/call_metadata.h"

#include "gtest/gtest.h"
#include "server/base/errors.h"
#include "server/edge/grpc_status.h"

namespace sandglass::gateway {
namespace {

TEST(HasNotBegun, TellsWhatAnotherNodeMayDo) {
  EXPECT_TRUE(HasNotBegun(server::ToGrpcStatus(server::ShuttingDown())));
  EXPECT_EQ(ReasonOf(server::ToGrpcStatus(server::ShuttingDown())),
            "SHUTTING_DOWN");
  // It may have begun, or nobody else would do it either.
  EXPECT_FALSE(HasNotBegun(
      server::ToGrpcStatus(server::LanguageUnavailable("there is none"))));
  EXPECT_FALSE(HasNotBegun(
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "the connection broke")));
  EXPECT_FALSE(HasNotBegun(grpc::Status::OK));
  EXPECT_FALSE(HasNotBegun(
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "x", "no details at all")));
}

}  // namespace
}  // namespace sandglass::gateway
