#ifndef SANDGLASS_SERVER_RUN_VALIDATE_H_
#define SANDGLASS_SERVER_RUN_VALIDATE_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "sandglass/v1/run.pb.h"
#include "server/job/job.h"
#include "server/job/request_checks.h"
#include "server/live_policy/policy_set.h"

namespace sandglass::server {

class Session;

// Bounds of a request. Sizes are bytes.
inline constexpr size_t kMaxCodeBytes = size_t{1} << 20;
inline constexpr size_t kMaxArgs = 1024;
// Counting a NUL for each.
inline constexpr size_t kMaxArgBytes = size_t{128} << 10;
inline constexpr size_t kMaxStdinBytes = size_t{8} << 20;
inline constexpr size_t kMaxFiles = 256;
inline constexpr size_t kMaxFileBytes = size_t{12} << 20;  // all together
inline constexpr size_t kMaxFetch = 64;
inline constexpr size_t kMaxRequestIdBytes = 128;

// A request with everything checked and all defaults filled in.
struct ValidRequest {
  Job job;  // without run_id
  const policy::Language* language;
  policy::SharedProfile profile;
};

// Checks a request. INVALID_ARGUMENT with all violations at once; field paths
// start with `prefix` ("" or "run."). Moves code, stdin and files out of
// `request`. The pointers in the result live as long as `policy`. `session` is
// the one that the request names, or null; FAILED_PRECONDITION when it has no
// kernel. `instead`, which may be null, is used in place of the profile that
// the request names.
absl::StatusOr<ValidRequest> ValidateRunCode(
    const PolicySet& policy, v1::RunCodeRequest&& request,
    const std::string& prefix = "",
    const std::shared_ptr<Session>& session = nullptr,
    const policy::SharedProfile& instead = nullptr);

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_RUN_VALIDATE_H_
