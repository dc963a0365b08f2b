#ifndef SANDGLASS_SERVER_JOB_RUN_ID_H_
#define SANDGLASS_SERVER_JOB_RUN_ID_H_

#include <string>

#include "server/base/random_id.h"

namespace sandglass::server {

// Returns "run-" and 16 hexadecimal digits from the kernel's random source.
inline std::string NewRunId() { return RandomId("run-", 8); }

}  // namespace sandglass::server

#endif  // SANDGLASS_SERVER_JOB_RUN_ID_H_
