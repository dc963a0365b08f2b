#ifndef SANDGLASS_CLIENT_RUN_RUN_REQUEST_H_
#define SANDGLASS_CLIENT_RUN_RUN_REQUEST_H_

#include "absl/status/statusor.h"
#include "client/flags/options.h"
#include "sandglass/v1/limits.pb.h"
#include "sandglass/v1/run.pb.h"

namespace sandglass::client {

// Sets only the limits that were requested.
v1::Limits ToProto(const LimitOptions& options);

// Builds the request, and reads the program, --stdin and --file from disk. The
// language stays empty if the options leave it open. Fails when an input can't
// be read, when the program isn't UTF-8, or when the whole is larger than a
// message may be.
absl::StatusOr<v1::RunCodeRequest> BuildRunRequest(const RunOptions& options);

}  // namespace sandglass::client

#endif  // SANDGLASS_CLIENT_RUN_RUN_REQUEST_H_
