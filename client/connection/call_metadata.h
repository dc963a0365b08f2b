#ifndef SANDGLASS_CLIENT_CONNECTION_CALL_METADATA_H_
#define SANDGLASS_CLIENT_CONNECTION_CALL_METADATA_H_

#include <memory>
#include <string>
#include <vector>

#include "grpcpp/support/client_interceptor.h"

namespace sandglass::client {

// A header of a call.
struct CallMetadata {
  std::string name;
  std::string value;
};

// Adds these to those calls of a channel that have none of this name of their
// own.
std::vector<
    std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
SendMetadata(std::vector<CallMetadata> metadata);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_CONNECTION_CALL_METADATA_H_
