#ifndef SANDGLASS_TESTS_CLIENT_FAKE_FAKE_OPERATOR_H_
#define SANDGLASS_TESTS_CLIENT_FAKE_FAKE_OPERATOR_H_

#include "sandglass/v1/operator_service.grpc.pb.h"
#include "tests/client/fake/fake_sessions.h"

namespace sandglass::client {

// An OperatorService whose answers a test sets before it calls.
class FakeOperator final : public v1::OperatorService::Service {
 public:
  Handler<v1::GetStatusRequest, v1::GetStatusResponse> on_get_status;
  Handler<v1::GetUsageRequest, v1::GetUsageResponse> on_get_usage;

 private:
  grpc::Status GetStatus(grpc::ServerContext*,
                         const v1::GetStatusRequest* request,
                         v1::GetStatusResponse* response) override {
    return AnswerBy(on_get_status, *request, *response);
  }
  grpc::Status GetUsage(grpc::ServerContext*,
                        const v1::GetUsageRequest* request,
                        v1::GetUsageResponse* response) override {
    return AnswerBy(on_get_usage, *request, *response);
  }
};

// A daemon that is ready, at 2025-01-31 08:00:00 UTC, up 2h5m, with 1204 runs.
v1::GetStatusResponse FakeStatus();

}  // namespace sandglass::client

#endif  // SANDGLASS_TESTS_CLIENT_FAKE_FAKE_OPERATOR_H_
